"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of reference files; they are not part of the project."""
    folder = os.environ.get("BPENB_TEST_DATA")
    if not folder:
        pytest.skip("BPENB_TEST_DATA is not set")
    return Path(folder)
