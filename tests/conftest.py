"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

collect_ignore_glob = ["*conftest.py"]  # no doctests there: two of one name could not be imported

# A first example may compile kernels, and machines differ: time is tested where it is the point.
settings.register_profile("bpenb", deadline=None)
settings.load_profile("bpenb")


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of reference files; they are not part of the project."""
    folder = os.environ.get("BPENB_TEST_DATA")
    if not folder:
        pytest.skip("BPENB_TEST_DATA is not set")
    return Path(folder)
