"""What must be true of any page of a report, as a browser shows it."""

import time
from itertools import pairwise

import numpy as np
import pytest

#: Sizes of windows, as Playwright takes them.
DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 375, "height": 812}, "has_touch": True, "is_mobile": True}

#: A canvas on which hardly anything differs from its commonest color is blank.
_DRAWN = """
  () => [...document.querySelectorAll('.canvas')].map((place) => {
    const canvas = place.querySelector('canvas');
    const chart = echarts.getInstanceByDom(place);
    if (canvas === null || chart === undefined) return { id: place.id, data: 0, marked: 0 };
    const pixels = new Uint32Array(
      canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const seen = new Map();
    pixels.forEach((each) => seen.set(each, (seen.get(each) ?? 0) + 1));
    const data = chart.getOption().series.reduce((sum, each) => sum + (each.data?.length ?? 0), 0);
    return { id: place.id, data, marked: pixels.length - Math.max(...seen.values()) };
  })
"""
_VISIBLE_TEXT = """
  () => {
    const numbers = (text) => {
      const found = text.match(/[\\d.]+/g).map(Number);
      const scale = text.startsWith('color(srgb') ? 255 : 1;
      return found.map((each, place) => (place < 3 ? scale * each : each));
    };
    const light = (channel) => (channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
    const luminance = (color) => {
      const [r, g, b] = color.map((each) => light(each / 255));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
      for (let each = element; each !== null; each = each.parentElement) {
        const color = numbers(getComputedStyle(each).backgroundColor);
        if (color.length === 3 || color[3] === 1) return color;
        if (color[3] > 0) return null;
      }
      return [255, 255, 255];
    };
    const found = [];
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (words.nextNode()) {
      const text = words.currentNode.data.trim();
      const element = words.currentNode.parentElement;
      if (text === '' || !element.checkVisibility() || /SCRIPT|STYLE/.test(element.tagName)) continue;
      const back = behind(element);
      const [one, other] = [numbers(getComputedStyle(element).color), back ?? [0, 0, 0]].map(luminance);
      const ratio = back === null ? 0 : (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      found.push([text.slice(0, 60), ratio]);
    }
    return found;
  }
"""
_FOCUSED = """
  () => {
    const at = document.activeElement;
    if (at === document.body || at === null) return null;
    const style = getComputedStyle(at);
    const box = at.getBoundingClientRect();
    return {
      tag: at.tagName.toLowerCase(),
      id: at.id,
      classes: at.className,
      words: at.textContent.trim().slice(0, 40),
      best: at.dataset.best ?? null,
      outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1,
      seen: box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight,
      again: at.dataset.visited === '1' || (at.dataset.visited = '1') !== '1',
    };
  }
"""


def wait_until(page, condition, told="'no more to tell'"):
    """Wait for a condition on the page; Playwright's own way needs what the page's policy forbids.

    ``told`` is what the page is asked for if it does not come about.
    """
    end = time.monotonic() + 15.0
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not within 15 s: {condition}: {page.evaluate(told)}"
        page.wait_for_timeout(20)


def still(page, value, seconds=0.2):
    """Wait until an expression has had the same value for so long, and return it.

    ECharts redraws some 20 ms after the last event, or later on a busy machine.
    """
    end, last, since = time.monotonic() + 15.0, None, 0.0
    while True:
        now = page.evaluate(value)
        if now != last:
            last, since = now, time.monotonic()
        if time.monotonic() > since + seconds:
            return now
        assert time.monotonic() < end, f"changes for 15 s: {value}: {now}"
        page.wait_for_timeout(20)


def scroll_through(page):
    """Look at the whole page, as a reader does: charts are drawn when they come near."""
    page.evaluate("""async () => {
      for (const each of document.querySelectorAll('.canvas')) {
        each.scrollIntoView();
        await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      }
      scrollTo(0, 0);
    }""")


def assert_charts_are_drawn(page, expected):
    """Every place of a chart holds data and ink; they are as many as expected."""
    scroll_through(page)
    charts = page.evaluate(_DRAWN)
    assert len(charts) == expected
    blank = [each for each in charts if each["data"] == 0 or each["marked"] < 300]
    assert blank == []


def ink_on_paper(page):
    """Print each chart on a sheet of its own, and count the points in color, by chart; text has none."""
    pdfium = pytest.importorskip("pypdfium2", reason="renders PDF; pip install 'highrelief[test]'")
    sheets = page.evaluate("""() => {
      document.querySelectorAll('body > *').forEach((each) => { each.style.display = 'none'; });
      const sheets = Map.groupBy(document.querySelectorAll('.canvas'), (each) => each.closest('figure'));
      for (const figure of sheets.keys()) {
        document.body.append(figure);
        figure.style.display = '';
        figure.style.breakBefore = 'page';
      }
      return [...sheets.values()].map((charts) => charts.map((each) => each.id));
    }""")
    document = pdfium.PdfDocument(page.pdf(format="A4", print_background=True))
    assert len(document) == len(sheets), "a figure does not fit on its sheet"
    found = {}
    for sheet, charts in zip(document, sheets, strict=True):
        pixels = np.asarray(sheet.render(scale=1.0).to_numpy())[:, :, :3].astype(int)
        found |= dict.fromkeys(charts, int(np.count_nonzero(np.ptp(pixels, axis=2) > 60)))
    document.close()
    return found


def assert_fits(page):
    """On no phone does the page itself scroll sideways, in light or dark."""
    scroll_through(page)
    for width, height in ((375, 812), (320, 568)):
        page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)))")
            page.evaluate("scrollTo(1000, 0)")
            assert page.evaluate("[document.documentElement.scrollWidth, scrollX]") == [width, 0], _wide(page)


def _wide(page):
    """What reaches beyond the right edge."""
    return page.evaluate("""() => [...document.querySelectorAll('body *')]
      .filter((each) => each.getBoundingClientRect().right + scrollX > innerWidth + 1)
      .map((each) => `${each.tagName} ${each.id} ${each.className}`).slice(0, 5)""")


def assert_colors_follow(page):
    """Dark where the reader prefers it, the other way by the button; readable either way, and in charts."""
    scroll_through(page)
    chart = "document.querySelector('.canvas canvas').toDataURL()"
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        drawn = page.evaluate(chart)
        assert (background(page) < 0.15) == (scheme == "dark")
        assert texts_below(page, 4.5) == []
        page.click("#theme")
        assert (background(page) < 0.15) == (scheme == "light")
        assert page.evaluate(chart) != drawn


def texts_below(page, ratio):
    """Visible texts with less contrast than that."""
    found = page.evaluate(_VISIBLE_TEXT)
    assert len(found) > 50
    return [(text, round(each, 2)) for text, each in found if each < ratio]


def assert_outline(page):
    """Headings go down by one step at a time from the only h1; ids are unique; the language is told."""
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate("document.documentElement.lang") == "en"
    unnamed = page.evaluate("""[...document.querySelectorAll('.canvas, table, img, [role=region]')]
      .filter((each) => !(each.ariaLabel || each.caption?.textContent || each.alt
        || each.getAttribute('aria-labelledby'))).map((each) => each.outerHTML.slice(0, 80))""")
    assert unnamed == []


def tabbed_through(page):
    """What the Tab key reaches, from the top until it leaves the page."""
    page.evaluate("scrollTo(0, 0)")
    stops = []
    for _ in range(400):
        page.keyboard.press("Tab")
        stop = page.evaluate(_FOCUSED)
        if stop is None or stop.pop("again"):
            return stops
        stops.append(stop)
    raise AssertionError(f"Tab does not leave the page: {stops[-3:]}")


def assert_keyboard_reaches(page, selectors):
    """Tab comes by all of these, shows where it is, and leaves the page at the end."""
    expected = page.evaluate("(all) => all.map((each) => document.querySelectorAll(each).length)", selectors)
    assert all(expected), dict(zip(selectors, expected, strict=True))
    stops = tabbed_through(page)
    assert [each for each in stops if not (each["outlined"] and each["seen"])] == []
    missed = page.evaluate(
        """(all) => [...document.querySelectorAll(all.join(', '))]
          .filter((each) => each.dataset.visited !== '1').map((each) => each.outerHTML.slice(0, 100))""",
        selectors,
    )
    assert missed == []
    return stops


#: What names would make of the page if they were taken for more than text.
MISCHIEF = "img, iframe, svg, object, embed, form, b, [onload], [onerror], a[href^='javascript' i]"


def assert_inert(page, n_scripts, n_styles):
    """No element of the page comes from a name."""
    scroll_through(page)
    assert (
        page.evaluate("(all) => [...document.querySelectorAll(all)].map((each) => each.outerHTML)", MISCHIEF)
        == []
    )
    assert page.evaluate("[Object, Array, Function].flatMap((each) => Object.keys(each.prototype))") == []
    counts = "['script', 'style'].map((each) => document.querySelectorAll(each).length)"
    assert page.evaluate(counts) == [n_scripts, n_styles]


def point_at_everything(page):
    """Have every chart tell of each thing it shows, the first of each kind, as if a mouse pointed at it."""
    page.evaluate("""async () => {
      for (const place of document.querySelectorAll('.canvas')) {
        place.scrollIntoView();
        const chart = echarts.getInstanceByDom(place);
        chart.getOption().series.forEach(({ silent, data }, seriesIndex) => {
          for (let dataIndex = 0; dataIndex < 20 && dataIndex < data.length && !silent; dataIndex += 1) {
            chart.dispatchAction({ type: 'showTip', seriesIndex, dataIndex });
          }
        });
        await new Promise((next) => requestAnimationFrame(next));
      }
    }""")


def background(page):
    """Luminance of the paper, roughly: mean of its channels in [0, 1]."""
    return page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, each) => sum + Number(each), 0) / 765"
    )


def without_breaks(text):
    """A text as HTML keeps it: no NUL (or a sign for it), blanks as one."""
    return " ".join(text.replace("\u0000", "").replace("\ufffd", "").split())
