"""Pages in a real browser: Chromium, driven by Playwright, without a network.

Whatever a page complains of (errors and warnings on the console, uncaught errors, what its content-security
policy stops, dialogs, anything it wants to fetch) is collected, and the test fails by it.
"""

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: What may be called so on the PATH, the first that is there.
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: Runs before the page's own scripts: what the policy stops is told to the page only.
WATCH_POLICY = """
  window.stopped = [];
  document.addEventListener('securitypolicyviolation', (event) => {
    window.stopped.push(`${event.violatedDirective} stops ${event.blockedURI || 'inline'}`);
  });
"""


def found_browser():
    """Path of the browser; None if there is none."""
    named = os.environ.get("HIGHRELIEF_BROWSER")
    if named:
        return named if Path(named).is_file() else None
    return next(filter(None, map(shutil.which, NAMES)), None)


def go_without(reason):
    """Skip the test where a person runs it; fail it where it must run."""
    if os.environ.get("CI") or os.environ.get("HIGHRELIEF_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def launched():
    """Give the browser; skip, or fail, if it is not to be had.

    For one module of tests at a time: while it runs, its thread has a running event loop, and others (such as
    Dask's) cannot start theirs.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        go_without("no Playwright to drive a browser with; pip install 'highrelief[test]'")
    path = found_browser()
    if path is None:
        go_without(
            "no browser to look at the pages with; apt-get install chromium, or set HIGHRELIEF_BROWSER to the"
            " path of a Chromium or Chrome"
        )
    # Chromium's sandbox does not work for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page that is open, and what it complained of."""

    page: Any
    context: Any
    address: str
    seen: list[str] = field(default_factory=list)

    def complaints(self):
        """All so far, also those that only the page knows."""
        stopped = self.page.evaluate("window.stopped ?? []")
        return self.seen + [f"policy: {each}" for each in stopped]

    def close(self):
        """Leave; the test fails if there was any complaint."""
        complaints = self.complaints()
        self.context.close()
        if complaints:
            pytest.fail("\n".join(complaints))


def visited(browser, path, *, scripts=True, **options):
    """Open a file in a window of its own, without a network.

    Parameters
    ----------
    scripts : bool
        Whether JavaScript is on.
    **options
        Of Playwright's ``new_context``: ``color_scheme``, ``viewport``, ...
    """
    address = Path(path).absolute().as_uri()
    # A page that scrolls smoothly is not yet where it was sent when the test looks.
    context = browser.new_context(java_script_enabled=scripts, reduced_motion="reduce", **options)
    context.set_offline(True)
    context.set_default_timeout(15_000)
    context.add_init_script(WATCH_POLICY)
    page = context.new_page()
    visit = Visit(page, context, address)
    _listen(visit)
    page.goto(address)
    return visit


def _listen(visit):
    def asked(request):
        inside = request.url.split("#")[0] == visit.address or request.url.startswith(("data:", "blob:"))
        if not inside:
            visit.seen.append(f"request: {request.url}")

    def said(message):
        if message.type in ("error", "warning", "assert"):
            visit.seen.append(f"console: {message.text}")

    def opened(dialog):
        visit.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    visit.context.on("request", asked)
    visit.context.on("page", lambda page: visit.seen.append(f"window: {page.url}"))
    visit.page.on("console", said)
    visit.page.on("pageerror", lambda error: visit.seen.append(f"error: {error}"))
    visit.page.on("dialog", opened)


def broken_rules(page):
    """What axe, the checker of accessibility, finds wrong: rule and elements."""
    try:
        from axe_playwright_python.base import AXE_SCRIPT
    except ImportError:
        go_without("no axe to check accessibility with; pip install 'highrelief[test]'")
    # Evaluated by the browser's debugger, which no policy of the page stops.
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {node['html'][:150]} ({node['failureSummary']})"
        for each in found["violations"]
        for node in each["nodes"]
    ]
