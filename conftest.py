"""Where doctests run: in a folder of their own, since some of them write files."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _folder_of_a_doctest(request: pytest.FixtureRequest) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
