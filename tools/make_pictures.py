"""Make the pictures of the README: the top of a report, light and dark, as Chromium shows it.

python tools/make_pictures.py    (needs the extras `report` and `test`, chromium and chromedriver)

The tokenizer is trained on the pages of docs/, and the report is of them: nothing else is needed.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import bpenb

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1120, 1600
VOCAB_SIZE = 4000
FLAGS = "--headless=new --no-first-run --disable-gpu --hide-scrollbars --disable-background-networking"
# A word that is met, long enough for a tree that one can look at.
POINT_AT = "[...document.querySelectorAll('#passage .t')].find(t => t.textContent === ' tokenizer')"
# The picture ends below the first row of plots.
BOTTOM = "return document.querySelector('.plots section').getBoundingClientRect().bottom + 16"


def write_page(folder: Path) -> Path:
    """Train on the documentation, and write a report of it."""
    os.chdir(ROOT)
    pages = ["docs/training.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    tokenizer = bpenb.train(sorted(set(pages)), vocab_size=VOCAB_SIZE)
    bpenb.write_report(tokenizer, list(dict.fromkeys(pages)), folder / "report.html", name="tokenizer")
    return folder / "report.html"


def open_browser() -> Any:
    """Start Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in [*FLAGS.split(), *(["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else [])]:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def take_pictures(driver: Any, page: Path) -> None:
    """Write what Chromium shows of a page, as who likes it light has it, and dark."""
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for scheme in ("light", "dark"):
        liked = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", liked)
        driver.get(page.as_uri())
        driver.execute_script(f"{POINT_AT}.focus({{preventScroll: true}})")
        bottom = driver.execute_script(BOTTOM)
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": bottom, "scale": 1}
        taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})["data"]
        path = IMAGES / f"report-{scheme}.png"
        path.write_bytes(base64.b64decode(taken))
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def main() -> None:
    """Write docs/images/report-light.png and report-dark.png."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = write_page(Path(folder))
        driver = open_browser()
        try:
            take_pictures(driver, page)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
