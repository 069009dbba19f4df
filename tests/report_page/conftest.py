"""A real Chromium, headless and without network of its own, for pages that lie in a file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

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


class Browser:
    """One window."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def cdp(self, command: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def open(
        self, page: Path, *, scheme: str = "light", width: int = 1200, height: int = 900, scripts: bool = True
    ) -> None:
        """Open a file as somebody has it who likes it light or dark, on a screen of this width."""
        self.driver.get("about:blank")
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)  # what was told so far is forgotten
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.cdp("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.driver.get(page.as_uri())

    @property
    def complaints(self) -> list[str]:
        """What the console says: errors of scripts, and what the policy of the page forbade."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def requests(self) -> set[str]:
        """All that the page asked for, itself included."""
        events: Iterator[Mapping[str, Any]] = (
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        )
        sent = (event for event in events if event["method"] == "Network.requestWillBeSent")
        return {event["params"]["request"]["url"].partition("#")[0] for event in sent}

    def press(self, *keys: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def point_at(self, selector: str, number: int = 0) -> None:
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By

        element = self.driver.find_elements(By.CSS_SELECTOR, selector)[number]
        ActionChains(self.driver).move_to_element(element).perform()


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
