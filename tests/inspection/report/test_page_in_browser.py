"""The page of a ranking in a real browser: what a reader does with it, and what names must not do."""

import csv
import json
from dataclasses import replace
from functools import cache

import pytest
from browser import broken_rules, visited
from page_checks import (
    DESK,
    PHONE,
    assert_charts_are_drawn,
    assert_colors_follow,
    assert_fits,
    assert_inert,
    assert_keyboard_reaches,
    assert_outline,
    background,
    ink_on_paper,
    point_at_everything,
    scroll_through,
    still,
    wait_until,
    without_breaks,
)
from report_contents import EVIL, bare_contents, evil_contents, full_contents, mixed_contents

from highrelief.inspection.report.contents import SampleMap
from highrelief.inspection.report.page import ranking_page
from highrelief.inspection.report.report import Report
from highrelief.io.text import escape_formulas

pytestmark = pytest.mark.slow

CONTENTS = {
    "full": full_contents,
    "bare": bare_contents,
    "evil": evil_contents,
    "mixed": mixed_contents,
    "large": lambda: full_contents(20_000),
}
#: Orange pixels of the heat map drawn for paper, by row.
INK_OF_HEAT_MAP = """
  () => {
    dispatchEvent(new Event('beforeprint'));
    const canvas = document.querySelector('#map-chart .printed');
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const found = Array.from({ length: height }, (_, y) => {
      let number = 0;
      for (let x = 0; x < width; x += 1) {
        const place = 4 * (y * width + x);
        number += data[place] > 150 && data[place + 1] < 120 && data[place + 2] < 60;
      }
      return number;
    });
    dispatchEvent(new Event('afterprint'));
    return found;
  }
"""
ROWS = "#ranking-table .tabulator-row"
COLUMNS = ("rank", "name", "weight", "kept", "alone", "low", "frequency")


@cache
def contents_of(kind):
    return CONTENTS[kind]()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """Path of the page of some contents; each is made once in a process."""
    folder = tmp_path_factory.mktemp("pages")

    def path(kind):
        made = folder / f"{kind}.html"
        if not made.exists():
            made.write_text(ranking_page(contents_of(kind)), encoding="utf-8")
        return made

    return path


@pytest.fixture
def reader(visit, page_file):
    """Open the page of some contents, and wait until its table stands."""

    def opened(kind="full", **options):
        page = visit(page_file(kind), **{**DESK, **options})
        if options.get("scripts", True):
            page.wait_for_selector(ROWS)
        return page

    return opened


def names_shown(page):
    return page.locator(f"{ROWS} .name").all_text_contents()


def downloaded(page):
    """The shown rows as the page offers them: a list of dicts."""
    with page.expect_download() as offer:
        page.click("#csv")
    with open(offer.value.path(), encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def header(field):
    return f"#ranking-table .tabulator-col[tabulator-field={field}] button"


# Seeing it


@pytest.mark.parametrize(
    ("kind", "n_charts", "scheme"),
    [("full", 18, "light"), ("bare", 1, "light"), ("large", 18, "dark"), ("mixed", 17, "light")],
)
def test_every_chart_is_drawn(reader, kind, n_charts, scheme):
    page = reader(kind, color_scheme=scheme)
    assert_charts_are_drawn(page, n_charts)


def test_what_is_missing_has_a_column_and_categories_have_bars(reader):
    page = reader("mixed")
    shares = page.locator(f"{ROWS} .tabulator-cell[tabulator-field=missing]").all_inner_texts()
    assert shares[:2] == ["0\N{NO-BREAK SPACE}%", "<1\N{NO-BREAK SPACE}%"]
    scroll_through(page)
    kinds = """place => drawn.get(`distribution-${place}`).chart.getOption().series.map(({ type }) => type)"""
    assert page.evaluate(kinds, 0) == ["bar"] * 3
    assert "boxplot" in page.evaluate(kinds, 1)
    assert page.get_by_text("Best features, third by third").is_visible()


def test_what_is_absent_is_explained(reader):
    page = reader("bare")
    for reason in contents_of("bare").absent.values():
        assert page.get_by_text(reason).is_visible()


@pytest.mark.parametrize("kind", ["full", "evil", "mixed"])
def test_a_phone_does_not_scroll_sideways(reader, kind):
    assert_fits(reader(kind, **PHONE))


def test_colors_follow_the_reader_and_the_button(reader):
    assert_colors_follow(reader())


def test_charts_follow_the_width(reader):
    page = reader()
    scroll_through(page)
    wide = page.evaluate("document.querySelector('#weights-chart canvas').clientWidth")
    page.set_viewport_size({"width": 600, "height": 900})
    wait_until(page, "document.querySelector('#weights-chart canvas').clientWidth < 600")
    assert wide > 600
    assert_charts_are_drawn(page, 18)


def test_weights_fit_on_a_phone_and_have_bars_where_it_is_turned(reader):
    page = reader(**PHONE)
    edge = page.locator("#ranking-table").bounding_box()
    for cell in page.locator(f"{ROWS} .tabulator-cell[tabulator-field=weight]").all()[:5]:
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"]
    assert not page.locator(f"{ROWS} .track").first.is_visible()
    page.click(header("name"))
    page.click(header("name"))
    page.set_viewport_size({"width": 812, "height": 375})
    page.locator(f"{ROWS} .track").first.wait_for(state="visible")
    assert names_shown(page)[0] == "gene 00120"
    holder = "document.querySelector('.tabulator-tableholder')"
    wait_until(page, f"{holder}.scrollWidth <= {holder}.clientWidth")


def test_the_axis_of_stability_ends_with_its_sizes(reader):
    page = reader()
    scroll_through(page)
    extent = """drawn.get('stability-chart').chart.getModel().getComponent('xAxis').axis.scale.getExtent()"""
    assert page.evaluate(extent) == [1, 20]


def test_few_features_make_low_charts_of_whole_ranks(visit, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(ranking_page(full_contents(3)), encoding="utf-8")
    page = visit(path, **DESK)
    page.wait_for_selector(ROWS)
    assert_charts_are_drawn(page, 15)
    for chart, most in (("intervals-chart", 200), ("frequency-chart", 200), ("correlations-chart", 320)):
        assert 80 < page.locator(f"#{chart}").bounding_box()["height"] < most, chart
    axis = "drawn.get('intervals-chart').chart.getModel().getComponent('xAxis').axis"
    ticks = page.evaluate(f"{axis}.scale.getTicks().map((each) => each.value)")
    assert ticks[0] == 1
    assert all(each == int(each) for each in ticks)
    assert page.locator("[data-best]").count() == 0


def test_charts_are_seen_where_the_system_sets_the_colors(reader):
    page = reader(forced_colors="active", color_scheme="dark")
    scroll_through(page)
    style = "getComputedStyle(document.getElementById('weights-chart'))"
    assert page.evaluate(f"{style}.forcedColorAdjust") == "none"
    assert page.evaluate(f"{style}.backgroundColor") == "rgb(20, 23, 27)"
    assert (
        page.evaluate(f"getComputedStyle(document.querySelector('{ROWS} .bar')).forcedColorAdjust") == "none"
    )


#: Keeps what is to be done later, so that a test does it when it wants.
KEEP_TIMERS = """() => {
  window.later = [];
  window.setTimeout = (act) => window.later.push(act);
}"""


def test_a_button_says_what_it_did_and_then_its_own_words(reader):
    page = reader()
    page.evaluate(KEEP_TIMERS)
    button = page.locator("[data-copy=again]")
    for clicks in (1, 2):
        button.click()
        wait_until(page, f"window.later.length === {clicks}")
        assert button.inner_text() == "Copied"
    page.evaluate("window.later.forEach((act) => act())")
    assert button.inner_text() == "Copy"


def test_where_nothing_can_be_copied_the_words_are_selected(reader):
    page = reader()
    page.evaluate(KEEP_TIMERS)
    page.evaluate("""() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error('no'));
      document.execCommand = () => false;
    }""")
    page.click("[data-copy=again]")
    wait_until(page, "document.querySelector('[data-copy=again]').textContent === 'Selected'")
    assert page.evaluate("getSelection().toString()") == contents_of("full").origin.again


def test_paper(reader):
    page = reader(color_scheme="dark")
    page.emulate_media(media="print")
    assert background(page) > 0.9
    assert page.locator("#plain-ranking tbody tr").count() == 50
    assert page.locator("#plain-ranking").is_visible()
    assert not page.locator("#ranking-table").is_visible()
    assert not page.locator("nav").is_visible()


def test_every_chart_is_on_paper(reader):
    """The PDF, as rendered, has the colors of bars, curves and cells; a page of captions only has none."""
    page = reader(color_scheme="dark")
    page.pdf()
    # The page is as it was.
    assert page.locator(".printed").count() == 0
    assert background(page) < 0.15
    ink = ink_on_paper(page)
    assert len(ink) == 18
    assert {chart: points for chart, points in ink.items() if points < 150} == {}


def test_large_heat_maps_on_paper_are_whole(visit, tmp_path):
    """ECharts draws for some milliseconds a frame; print does not wait for the next frame."""
    rows, columns = 30, 400
    cells = SampleMap(
        [f"feature {row}" for row in range(rows)],
        list(range(columns)),
        [str(sample) for sample in range(columns)],
        [0] * columns,
        [[2.5] * columns] * rows,
    )
    path = tmp_path / "large.html"
    path.write_text(ranking_page(replace(contents_of("full"), sample_map=cells)), encoding="utf-8")
    page = visit(path, **DESK)
    page.wait_for_selector(ROWS)
    # The color of the largest value is in every row that the first one crosses.
    by_row = page.evaluate(INK_OF_HEAT_MAP)
    assert max(by_row) > 1000
    colored = [place for place, number in enumerate(by_row) if number > 0.9 * max(by_row)]
    assert colored[-1] - colored[0] > 0.6 * len(by_row)
    assert len(colored) > 0.9 * (colored[-1] - colored[0])


@pytest.mark.parametrize(("file_format", "start"), [("png", b"\x89PNG"), ("svg", b"<svg")])
def test_charts_are_saved(reader, file_format, start):
    page = reader()
    for chart in ("finding-chart", "correlations-chart", "distribution-0", "map-chart", "pair-0"):
        with page.expect_download() as offer:
            page.click(f"[data-save={chart}][data-format={file_format}]")
        assert offer.value.suggested_filename == f"{chart}.{file_format}"
        saved = offer.value.path().read_bytes()
        assert saved.startswith(start)
        assert len(saved) > 2000


def test_the_features_to_keep_are_copied_and_downloaded(reader):
    page = reader()
    names = contents_of("full").features.names[:10]
    page.evaluate(
        "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }"
    )
    page.click("#copy-top")
    wait_until(page, "window.copied !== undefined")
    assert page.evaluate("window.copied").split("\n") == names
    with page.expect_download() as offer:
        page.click("#csv-top")
    with open(offer.value.path(), encoding="utf-8", newline="") as lines:
        assert [row["feature"] for row in csv.DictReader(lines)] == names


def test_the_current_section_is_marked(reader):
    page = reader()
    current = "[...document.querySelectorAll('nav a[aria-current]')].map((each) => each.textContent)"
    assert page.evaluate(current) == ["Finding"]
    page.evaluate("document.getElementById('stability').scrollIntoView()")
    wait_until(page, f"{current}.join() === 'Stability'", current)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    wait_until(page, f"{current}.join() === 'How it was made'", current)


def test_weights_have_a_logarithmic_scale(reader):
    page = reader()
    scale = "drawn.get('weights-chart').chart.getOption().yAxis[0].type"
    page.click("#log-scale")
    assert page.evaluate(scale) == "log"
    assert page.get_attribute("#log-scale", "aria-pressed") == "true"
    page.click("#log-scale")
    assert page.evaluate(scale) == "value"


def test_the_finding_is_on_the_first_screen(reader):
    page = reader()
    finding = contents_of("full").finding
    for words in (finding.headline, finding.keep, finding.trust_reason):
        box = page.get_by_text(words).first.bounding_box()
        assert box["y"] + box["height"] < 900
    assert page.locator("#finding-chart").bounding_box()["y"] < 700
    assert page.locator("#answers tbody tr").count() == 2


def test_no_matrix_where_nothing_interacts(visit, tmp_path):
    whole = contents_of("full")
    path = tmp_path / "page.html"
    nothing = replace(whole.interactions, pairs=[])
    path.write_text(ranking_page(replace(whole, interactions=nothing)), encoding="utf-8")
    page = visit(path, **DESK)
    page.wait_for_selector(ROWS)
    assert page.locator("#interactions-chart").count() == 0


def test_without_scripts_the_words_and_the_best_features_stand(reader):
    page = reader(scripts=False)
    contents = contents_of("full")
    for sentence in (*contents.summary, *contents.stability.words, *contents.warnings):
        assert page.get_by_text(sentence).is_visible()
    shown = page.locator("#plain-ranking tbody th").all_inner_texts()
    assert shown == contents.features.names[:50]
    assert not page.locator("#search").is_visible()
    assert page.locator("noscript p").is_visible()
    assert_fits_without_scripts(page)


def assert_fits_without_scripts(page):
    page.set_viewport_size({"width": 375, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


# Reading it with the keyboard, or with a screen reader


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("full", {"color_scheme": "light"}),
        ("full", {"color_scheme": "dark", **PHONE}),
        ("bare", {}),
        ("evil", {}),
        ("mixed", {}),
    ],
    ids=["light", "dark phone", "bare", "evil", "mixed"],
)
def test_accessible(reader, kind, options):
    page = reader(kind, **options)
    scroll_through(page)
    assert broken_rules(page) == []
    assert_outline(page)


def test_everything_is_reached_by_the_keyboard(reader):
    page = reader()
    stops = assert_keyboard_reaches(
        page,
        [
            "a.skip",
            "#search",
            "#theme",
            "#csv",
            "[data-best]",
            "[data-save]",
            "[data-copy]",
            "nav a",
            "summary",
        ]
        + [header(field) for field in COLUMNS],
    )
    assert stops[0]["classes"] == "skip"
    assert len(stops) < 120


def test_the_skip_link_leads_to_the_contents(reader):
    page = reader()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_until(page, "document.activeElement.id === 'main'")


def test_the_keyboard_sorts_searches_zooms_and_changes_colors(reader):
    page = reader()
    names = contents_of("full").features.names
    column = page.locator("#ranking-table .tabulator-col[tabulator-field=rank]")
    assert column.get_attribute("aria-sort") == "ascending"
    page.focus(header("rank"))
    page.keyboard.press("Enter")
    assert column.get_attribute("aria-sort") == "descending"
    assert names_shown(page)[0] == names[-1]
    page.keyboard.press("Space")
    assert column.get_attribute("aria-sort") == "ascending"
    assert names_shown(page)[0] == names[0]

    page.focus("#search")
    page.keyboard.type("00042")
    assert names_shown(page) == ["gene 00042"]
    page.keyboard.press("Enter")
    shown = "echarts.getInstanceByDom(document.getElementById('weights-chart')).getOption().dataZoom[0]"
    wait_until(page, f"{shown}.startValue <= 41 && {shown}.endValue >= 41")

    page.focus("[data-best='20']")
    page.keyboard.press("Space")
    wait_until(page, f"{shown}.startValue === 0 && {shown}.endValue === 19")
    assert page.get_attribute("[data-best='20']", "aria-pressed") == "true"

    page.focus("#theme")
    page.keyboard.press("Enter")
    assert background(page) < 0.15


# The chart of the weights, with a mouse

SHOWN = "[view.first, view.last]"


@pytest.fixture
def weights(reader):
    """Open a page at its chart of weights; gives the page, and places in the chart from its corner."""

    def opened(kind):
        page = reader(kind)
        # Charts are drawn when they come near, which may move others.
        page.evaluate("weightsChart().getDom().scrollIntoView({ block: 'center' })")
        box = still(page, "document.getElementById('weights-chart').getBoundingClientRect().toJSON()")
        return page, lambda right, down: (box["x"] + right, box["y"] + down % box["height"])

    return opened


def test_pointing_at_a_bar_tells_of_its_feature(weights):
    page, at = weights("full")
    page.evaluate("""() => {
      const { chart } = drawn.get('weights-chart');
      chart.on('showTip', ({ dataIndex }) => { window.told = dataIndex; });
    }""")
    left = page.evaluate("drawn.get('weights-chart').chart.convertToPixel({ xAxisIndex: 0 }, 7)")
    before = page.evaluate("document.querySelector('#weights-chart canvas').toDataURL()")
    page.mouse.move(*at(left, 200))
    wait_until(page, "window.told === 7")
    assert page.evaluate("aboutFeature(7)").splitlines()[:2] == ["gene 00008", "rank 8, kept"]
    assert page.evaluate("document.querySelector('#weights-chart canvas').toDataURL()") != before


def test_the_wheel_scrolls_the_page_and_zooms_with_ctrl(weights):
    page, at = weights("full")
    page.mouse.move(*at(400, 150))
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    wait_until(page, f"scrollY === {before + 120}")
    assert page.evaluate(SHOWN) == [0, 49]
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    wait_until(page, "view.last - view.first < 49")
    page.keyboard.up("Control")
    assert page.evaluate("scrollY") == before + 120


def test_the_slider_is_dragged_by_its_ends_and_its_middle(weights):
    page, at = weights("full")
    first, last = page.evaluate(
        "[0, 49].map((each) => drawn.get('weights-chart').chart.convertToPixel({ xAxisIndex: 0 }, each))"
    )
    # The slider is as wide as the 50 bars of 120 that the chart shows.
    width = (last - first) * 50 / 49
    left = first - width / 100
    middle, end = left + width * 25 / 119, left + width * 49 / 119
    page.mouse.move(*at(end, -20))
    page.mouse.down()
    page.mouse.move(*at(end + 200, -20), steps=3)
    page.mouse.up()
    wait_until(page, "view.first === 0 && view.last > 60")
    first, last = still(page, SHOWN)
    number = last - first
    page.mouse.move(*at(middle, -20))
    page.mouse.down()
    page.mouse.move(*at(middle + 150, -20), steps=3)
    page.mouse.up()
    wait_until(page, "view.first > 5")
    first, last = still(page, SHOWN)
    assert abs(last - first - number) <= 1
    assert page.get_attribute("[data-best='50']", "aria-pressed") == "false"


def test_zooming_20_000_bars_takes_less_than_a_second(weights):
    page, _ = weights("large")
    time_of = """async (act) => {
      const start = performance.now();
      act();
      await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
      return performance.now() - start;
    }"""
    steps = {
        "all": "bestButtons.at(-1).click()",
        "most": "showFeatures(100, 19000)",
        "few": "showFeatures(100, 140)",
        "all again": "showFeatures(0, 19999)",
        "colors": "themeButton.click()",
    }

    def measured():
        times = {name: page.evaluate(f"({time_of})(() => {{ {act} }})") for name, act in steps.items()}
        assert page.evaluate(SHOWN) == [0, 19_999]
        return times

    assert_quick(measured)


# The table


def test_the_count_is_spoken_when_the_reader_pauses(reader):
    page = reader()
    page.evaluate("""() => {
      window.spoken = [];
      new MutationObserver(() => window.spoken.push(said.textContent)).observe(said, { childList: true });
    }""")
    # At once: on a busy machine keys may come with pauses between them.
    page.evaluate("""() => {
      for (const typed of ['g', 'gene', 'gene 00', 'gene 0001']) {
        searchBox.value = typed;
        searchBox.dispatchEvent(new Event('input'));
      }
    }""")
    wait_until(page, "window.spoken.length > 0")
    assert page.evaluate("window.spoken") == ["10 of 120 features"]
    assert page.get_attribute("#shown", "aria-live") == "off"


def test_searching_narrows_the_table_and_says_by_how_much(reader):
    page = reader()
    assert page.inner_text("#shown") == "120 of 120"
    page.fill("#search", "GENE 0001")
    assert page.inner_text("#shown") == "10 of 120"
    assert names_shown(page) == [f"gene 0001{digit}" for digit in range(10)]
    page.fill("#search", "nowhere")
    assert page.inner_text("#shown") == "0 of 120"
    assert page.get_by_text("No feature matches.").is_visible()
    page.fill("#search", "")
    assert page.inner_text("#shown") == "120 of 120"


#: Time from the reader's event until the rows that stand in the page are others and have been painted.
WATCH_ROWS = """(kind) => {
  const drawn = () => [...document.querySelectorAll('#ranking-table .tabulator-row')];
  const rows = () => drawn().map((each) => each.textContent).join();
  const before = rows();
  window.took = new Promise((tell) => {
    addEventListener(kind, () => {
      const start = performance.now();
      const passed = () => performance.now() - start;
      const look = () => {
        const done = rows() !== before || passed() > 5000;
        requestAnimationFrame(done ? () => tell(passed()) : look);
      };
      look();
    }, { capture: true, once: true });
  });
}"""


def milliseconds(page, kind, act):
    page.evaluate(WATCH_ROWS, kind)
    act()
    return page.evaluate("window.took")


def assert_quick(measured):
    """All take less than a second, at the second attempt if not at the first: machines of tests are shared.

    Parameters
    ----------
    measured : callable
        Measures each action once; gives milliseconds by name.
    """
    times = measured()
    if max(times.values()) >= 1000:
        times = {name: min(times[name], took) for name, took in measured().items()}
    assert max(times.values()) < 1000, times


def test_searching_20_000_rows_takes_less_than_a_second(reader):
    page = reader("large")

    def measured():
        times = {}
        for sought, found in [("gene 1", 10_000), ("gene 12", 1_000), ("19999", 1), ("", 20_000)]:
            times[sought] = milliseconds(page, "input", lambda: page.fill("#search", sought))  # noqa: B023
            assert page.inner_text("#shown") == f"{found:,} of 20,000"
        return times

    assert_quick(measured)


def python_order(features, field):
    """The values of a column, upwards."""
    columns = {
        "rank": features.ranks,
        "name": features.names,
        "weight": features.weights,
        "kept": features.kept,
        "alone": features.univariate_ranks,
        "low": features.rank_low,
        "frequency": features.frequency,
    }
    return sorted(columns[field])


ROWS_IN_ORDER = """(field) => JSON.stringify(
  rankingTable.getData('active').map((row) => [row[field], row.name]))"""


def test_20_000_rows_are_sorted_by_each_column_within_a_second(reader):
    page = reader("large")
    features = contents_of("large").features

    def measured():
        times = {}
        for field in (*COLUMNS[1:], "rank"):
            upwards = python_order(features, field)
            for _ in range(2):
                took = milliseconds(page, "click", lambda: page.click(header(field)))  # noqa: B023
                column = page.locator(f"#ranking-table .tabulator-col[tabulator-field={field}]")
                direction = column.get_attribute("aria-sort")
                times[field, direction] = took
                # As one text: Playwright takes its time over each of 20,000 values.
                rows = json.loads(page.evaluate(ROWS_IN_ORDER, field))
                assert [value for value, _ in rows] == (
                    upwards if direction == "ascending" else upwards[::-1]
                )
                assert names_shown(page)[:5] == [name for _, name in rows[:5]]
        assert set(times) == {(field, way) for field in COLUMNS for way in ("ascending", "descending")}
        return times

    assert_quick(measured)


def test_scrolling_to_the_end_shows_the_last_rows(reader):
    page = reader("large")
    page.evaluate("document.querySelector('.tabulator-tableholder').scrollTo(0, 1e7)")
    wait_until(
        page,
        """[...document.querySelectorAll('#ranking-table .tabulator-row .name')]
      .some((each) => each.textContent === 'gene 20000')""",
    )
    assert page.locator(ROWS).count() < 200


def test_the_file_holds_the_shown_rows(reader):
    page = reader()
    page.fill("#search", "gene 0000")
    page.click(header("rank"))
    rows = downloaded(page)
    features = contents_of("full").features
    assert [row["feature"] for row in rows] == features.names[8::-1]
    for row in rows:
        place = features.names.index(row["feature"])
        assert int(row["rank"]) == features.ranks[place]
        assert float(row["weight"]) == features.weights[place]
        assert row["kept"] == ("yes" if features.kept[place] else "no")
        assert int(row["rank_alone"]) == features.univariate_ranks[place]
        assert float(row["rank_low"]) == features.rank_low[place]
        assert float(row["rank_high"]) == features.rank_high[place]
        assert float(row["frequency"]) == features.frequency[place]


# Names are text


def test_names_make_no_elements(reader):
    plain = reader("full")
    expected = plain.evaluate("['script', 'style'].map((each) => document.querySelectorAll(each).length)")
    page = reader("evil")
    assert_inert(page, *expected)
    point_at_everything(page)
    page.click(ROWS)
    assert_inert(page, *expected)


def test_names_show_as_they_are(reader):
    page = reader("evil")
    contents = contents_of("evil")
    kept = [without_breaks(each) for each in EVIL]

    def texts(selector):
        return [without_breaks(each) for each in page.locator(selector).all_text_contents()]

    assert texts(".lead p") == [without_breaks(contents.finding.headline), *kept]
    assert texts(".facts dt") == texts(".facts dd") == kept
    assert texts("h1") == [without_breaks(contents.title)]
    assert without_breaks(page.title()) == without_breaks(contents.title)
    assert texts(".note.warning li") == kept
    assert [each or "(no name)" for each in kept] == texts("#plain-ranking tbody th")
    assert texts(".pairs dt") == texts(".pairs dd") == 4 * kept
    assert texts("#suspects tbody th") == [without_breaks(each + "1") for each in EVIL]
    assert names_shown(page) == [each or "(no name)" for each in EVIL]
    assert page.locator(".references a").count() == 0


def test_a_malicious_name_is_found_by_searching(reader):
    page = reader("evil")
    page.fill("#search", "<img src=x")
    assert names_shown(page) == ["<img src=x onerror=alert(2)>"]
    assert page.locator(f"{ROWS} .name").is_visible()


#: What somebody might put into a page, and the rule that stops it.
SMUGGLED = {
    "script-src-elem": "put('script', { textContent: 'window.harmed = true' })",
    "style-src-elem": "put('style', { textContent: 'body { display: none }' })",
    "script-src-attr": "const at = put('p', {}); at.setAttribute('onclick', 'harmed = true'); at.click()",
    "style-src-attr": "put('p', {}).setAttribute('style', 'color: red')",
    "img-src": "put('img', { src: 'https://example.org/a.png' })",
    "connect-src": "fetch('https://example.org/b').catch(() => 0)",
    "frame-src": "put('iframe', { src: 'https://example.org/c' })",
    "form-action": "put('form', { action: 'https://example.org/d' }).submit()",
    "base-uri": "put('base', { href: 'https://example.org/' })",
    "object-src": "put('object', { data: 'https://example.org/e' })",
    "font-src": "new FontFace('f', 'url(https://example.org/f)').load().catch(() => 0)",
    "media-src": "put('video', { src: 'https://example.org/g' })",
}


def test_the_policy_stops_what_is_put_into_the_page(chromium, page_file):
    visit = visited(chromium, page_file("bare"), **DESK)
    page = visit.page
    for act in SMUGGLED.values():
        page.evaluate(f"""() => {{
          const put = (kind, own) => {{
            const made = Object.assign(document.createElement(kind), own);
            document.body.append(made);
            return made;
          }};
          try {{ {act}; }} catch {{ /* A refusal is told by the policy too. */ }}
        }}""")
    expected = json.dumps([f"{each} stops " for each in SMUGGLED])
    missed = f"{expected}.filter((each) => !window.stopped.some((told) => told.startsWith(each)))"
    wait_until(page, f"{missed}.length === 0", missed)
    assert page.evaluate("window.harmed") is None
    assert page.locator("h1").is_visible()
    assert page.url == visit.address
    visit.context.close()


def test_the_file_has_no_formulas(reader):
    rows = downloaded(reader("evil"))
    names = [row["feature"] for row in rows]
    assert "'=cmd|' /C calc'!A0" in names
    assert names == [escape_formulas(each) for each in EVIL]


def test_ten_thousand_samples_and_long_names_fit(visit, tmp_path):
    long = ["n" * 3000, "two words " * 200, "\u0645" * 300]
    path = tmp_path / "page.html"
    path.write_text(ranking_page(full_contents(3, 10_000, names=long)), encoding="utf-8")
    page = visit(path, **PHONE)
    page.wait_for_selector(ROWS)
    assert_charts_are_drawn(page, 15)
    assert_fits(page)


def test_in_a_notebook_the_page_stands_in_a_frame_and_gives_its_file(visit, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(
        f"<!doctype html><title>n</title>{Report(contents_of('full'))._repr_html_()}", encoding="utf-8"
    )
    page = visit(path, **DESK)
    frame = page.frame_locator("iframe")
    frame.locator(".tabulator-row").first.wait_for()
    frame.locator("#weights-chart").scroll_into_view_if_needed()
    frame.locator("#weights-chart canvas").wait_for()
    frame.locator("#search").fill("gene 0000")
    with page.expect_download() as offer:
        frame.locator("#csv").click()
    assert len(offer.value.path().read_text().splitlines()) == 10
    # The frame is sealed off from what is around it.
    assert frame.locator("body").evaluate("() => self.origin") == "null"
