"""The tests in a browser are worth what their watch notices."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from browser import broken_rules, found_browser, go_without, launched, visited

pytestmark = pytest.mark.slow

POLICY = (
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">"
)
PAGE = "<!doctype html><html lang='en'><head><title>t</title>{}</head><body>{}</body></html>"


@pytest.mark.parametrize(
    ("head", "body", "complaint"),
    [
        ("", "<script>console.error('bad')</script>", "console: bad"),
        ("", "<script>console.warn('odd')</script>", "console: odd"),
        ("", "<script>throw new Error('broken')</script>", "error: "),
        ("", "<script>alert('hello')</script>", "dialog: hello"),
        ("", "<script src='https://example.org/a.js'></script>", "request: https://example.org/a.js"),
        ("", "<img alt='' src='beside.png'>", "request: file:"),
        (
            "",
            "<script>fetch('https://example.org/b').catch(() => 0)</script>",
            "request: https://example.org/b",
        ),
        (POLICY, "<img alt='' src='https://example.org/c.png'>", "policy: img-src stops https://example.org"),
        (POLICY, "<p style='color: red'>a</p>", "policy: style-src-attr stops inline"),
    ],
)
def test_the_watch_notices(chromium, tmp_path, head, body, complaint):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(head, body))
    visit = visited(chromium, path)
    end = time.monotonic() + 15.0
    while not any(each.startswith(complaint) for each in visit.complaints()):
        assert time.monotonic() < end, visit.complaints()
        visit.page.wait_for_timeout(20)
    with pytest.raises(pytest.fail.Exception, match=complaint.split(":")[0]):
        visit.close()


def test_the_watch_is_silent_about_a_plain_page(visit, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(POLICY, "<script>document.body.append('here')</script>"))
    assert visit(path).inner_text("body") == "here"


def test_what_cannot_be_read_is_named(visit, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        PAGE.format("", "<main><h1>A</h1><input><p style='color: #ccc; background: #fff'>pale</p></main>")
    )
    rules = [each.split(":")[0] for each in broken_rules(visit(path))]
    assert sorted(rules) == ["color-contrast", "label"]


def test_without_a_browser_a_person_skips_and_the_machine_fails(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("HIGHRELIEF_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no browser"):
        go_without("no browser")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no browser"):
        go_without("no browser")


def test_a_browser_is_found(monkeypatch, tmp_path):
    program = tmp_path / "chromium-browser"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.delenv("HIGHRELIEF_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found_browser() == str(program)
    monkeypatch.setenv("HIGHRELIEF_BROWSER", str(tmp_path / "nowhere"))
    assert found_browser() is None


def test_others_can_start_an_event_loop_when_the_browser_is_gone():
    """Dask's tests run in the same processes. In a thread, since the browser of this module is open."""

    def loops():
        with launched():
            assert asyncio.get_running_loop() is not None
        return asyncio.run(asyncio.sleep(0, "works"))

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(loops).result() == "works"
