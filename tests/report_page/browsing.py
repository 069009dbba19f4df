"""A window of Chromium, as tests use it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


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
