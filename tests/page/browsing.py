"""A browser that opens pages from disk. Fails if a page logs to its console or requests anything."""

import contextlib
import os
import pathlib
import sys

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402

RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}


def launched(stack):
    """A browser that is closed with `stack`. As root in a container, it cannot use its own sandbox."""
    browser = stack.enter_context(sync_playwright()).chromium.launch(
        executable_path="/usr/bin/chromium", args=["--no-sandbox"] if os.geteuid() == 0 else []
    )
    stack.callback(browser.close)
    return browser


@contextlib.contextmanager
def opened(browser, path, width=1280, address="", **keywords):
    """The opened page. At the end, fails if it logged anything or requested anything that is not a file or blob."""
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **keywords)
    page = context.new_page()
    page.set_default_timeout(1000 * patience.seconds(30))
    said = []
    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on(
        "request",
        lambda request: (
            said.append(f"request: {request.url}") if not request.url.startswith(("file:", "blob:")) else None
        ),
    )
    page.goto(path.as_uri() + address)
    if keywords.get("java_script_enabled", True):
        page.wait_for_selector("main, [role=alert]")
    try:
        yield page
        assert not said, said
    finally:
        context.close()


def violations(page):
    """The violations of accessibility rules that axe-core finds, with the elements."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]
