"""A real Chromium, headless and without network of its own, for pages that lie in a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report_page.browsing import Browser

NEEDED = "BPENB_NEED_CHROMIUM"  # set to 1 where Chromium must be there, as in CI
_QUIET = (
    "--headless=new --disable-background-networking --disable-component-update --disable-sync --no-first-run "
    "--disable-gpu --disable-quic --disable-dev-shm-usage --disable-extensions --disable-default-apps "
    "--no-default-browser-check --hide-scrollbars"
)


def _find(*names: str) -> str:
    """Where a program is; without it the test is skipped, or fails where it must not be."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        why = f"there is no {names[0]} on this machine"
        if os.environ.get(NEEDED) == "1":
            pytest.fail(f"{why}, and {NEEDED} is 1")
        pytest.skip(why)
    return found


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium = _find("chromium", "chromium-browser", "google-chrome")
    chromedriver = _find("chromedriver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in _QUIET.split():
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture
def browser(_driver: Any) -> Browser:
    return Browser(_driver)


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Write a report of a text on a tokenizer; returns the file."""
    import bpenb

    def write_page(
        tokenizer: bpenb.Tokenizer, text: str, file: str = "text.txt", called: str = "t", **how: Any
    ) -> Path:
        folder = tmp_path_factory.mktemp("report")
        (folder / file).write_text(text, encoding="utf-8", newline="")
        bpenb.write_report(tokenizer, folder / file, folder / "report.html", name=called, **how)
        return folder / "report.html"

    return write_page
