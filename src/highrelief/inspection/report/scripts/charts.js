'use strict';
// Charts: ECharts on canvas, in the page's colors, drawn when they come near the window.

const drawn = new Map();
const narrowWidth = 560;

/** What all charts share: type, tooltips as drawn text (never HTML), a description for those who do not see. */
function withCommon(element, option) {
  const { fontFamily } = getComputedStyle(document.body);
  const text = { color: color('soft'), fontFamily, fontSize: 12 };
  return {
    animation: false,
    textStyle: text,
    aria: { enabled: true, label: { description: element.getAttribute('aria-label') } },
    ...option,
    tooltip: {
      renderMode: 'richText',
      confine: true,
      transitionDuration: 0,
      backgroundColor: color('raised'),
      borderColor: color('faint'),
      borderWidth: 1,
      padding: 10,
      textStyle: { ...text, color: color('ink'), lineHeight: 18 },
      ...option.tooltip,
    },
  };
}

/** An axis in the page's colors. */
function axis(own) {
  return {
    nameLocation: 'middle',
    nameGap: 30,
    nameTextStyle: { color: color('soft') },
    axisLine: { show: true, lineStyle: { color: color('faint') } },
    axisTick: { show: false },
    splitLine: { show: own.type !== 'category', lineStyle: { color: color('rule') } },
    ...own,
    axisLabel: { color: color('soft'), hideOverlap: true, ...own.axisLabel },
  };
}

/** An axis of numbers, written as in the page. */
function numberAxis(own) {
  return axis({ type: 'value', ...own, axisLabel: { formatter: figure, ...own.axisLabel } });
}

/** An axis of things by their places: names are looked up when they are written and never are keys. */
function namedAxis(names, own, length = 16) {
  return axis({
    type: 'category',
    data: names.map((_, place) => String(place)),
    ...own,
    axisLabel: { interval: 0, formatter: (place) => shortly(names[place], length), ...own.axisLabel },
  });
}

/** Room around the axes, their labels included. */
function grid(own) {
  const room = { left: 8, right: 16, top: 16, bottom: 8 };
  return { ...room, outerBoundsMode: 'same', outerBoundsContain: 'all', ...own };
}

function legend(own) {
  const sizes = { left: 0, top: 0, itemWidth: 12, itemHeight: 12, itemGap: 18 };
  const words = { color: color('soft') };
  // Many classes are leafed through.
  const leaves = { pageIconColor: color('accent'), pageIconInactiveColor: color('rule'), pageTextStyle: words };
  return { ...sizes, ...leaves, selectedMode: false, textStyle: words, ...own };
}

/** An axis line that stays beneath bars and boxes below zero. */
function atTheBottom() {
  return { onZero: false, lineStyle: { color: color('faint') } };
}

/** What is said of the bar that the reader points at, by its place. */
function barTooltip(about) {
  const formatter = ([first]) => about(Number(first.axisValue));
  return { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter };
}

/** A slider beneath a chart that chooses what of it is shown. */
function slider(own) {
  const inColors = (line, area) => ({ lineStyle: { color: color(line) }, areaStyle: { color: color(area) } });
  return {
    type: 'slider',
    bottom: 10,
    height: 20,
    showDetail: false,
    brushSelect: false,
    borderColor: color('rule'),
    fillerColor: `${color('accent')}22`,
    // Thin, for they stand close where a few of many are shown; what is caught beside them is not seen.
    handleIcon: 'path://M0,0H3V20H0Z',
    handleStyle: { color: color('accent'), borderColor: 'rgba(0, 0, 0, 0)', borderWidth: 10 },
    emphasis: { handleStyle: { color: color('ink'), borderColor: 'rgba(0, 0, 0, 0)' } },
    moveHandleStyle: { color: color('faint') },
    dataBackground: inColors('faint', 'rule'),
    selectedDataBackground: inColors('accent', 'accent-wash'),
    ...own,
  };
}

/** Intervals as lines with end marks; `across` if they lie along the horizontal axis. */
function intervals(ends, across, own = {}) {
  const data = ends.flatMap(([place, low, high]) => {
    if (low === null || high === null) return [];
    return across ? [[low, place], [high, place], ['-', '-']] : [[place, low], [place, high], ['-', '-']];
  });
  return {
    type: 'line',
    data,
    symbol: 'rect',
    symbolSize: across ? [1.5, 8] : [8, 1.5],
    lineStyle: { color: color('accent'), width: 1.5 },
    itemStyle: { color: color('accent') },
    showAllSymbol: true,
    silent: true,
    connectNulls: false,
    ...own,
  };
}

/** A dashed line across a chart, with its meaning beside it. */
function boundary(data, words, own = {}) {
  return {
    silent: true,
    symbol: 'none',
    precision: 20,
    lineStyle: { type: 'dashed', color: color('soft'), width: 1 },
    label: { color: color('soft'), formatter: () => words, position: 'insideStartTop', ...own },
    data: [data],
  };
}

function least(values) {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function most(values) {
  return values.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** Whether numbers are better seen on a logarithmic scale: those above zero span decades. */
function spansDecades(values) {
  const positive = values.filter((each) => each > 0);
  return most(positive) / least(positive) > 100;
}

function isNarrow(element) {
  return element.clientWidth < narrowWidth;
}

/** Draw a chart into an element; `option` is called again whenever colors or the width change. */
function drawNow(element, option, whenMade) {
  const chart = echarts.init(element, null, { renderer: 'canvas' });
  const entry = { chart, option, narrow: isNarrow(element), redraw: null };
  entry.redraw = () => {
    entry.narrow = isNarrow(element);
    chart.setOption(withCommon(element, option(entry.narrow)), { notMerge: true });
  };
  drawn.set(element.id, entry);
  entry.redraw();
  whenMade?.(chart);
  new ResizeObserver(() => fit(entry, element)).observe(element);
}

/** A copy of a chart outside of the page, for a file or for paper: nothing that only a screen needs. */
function copyOf(element, width, settings) {
  drawWaiting(element);
  const size = { width, height: Math.max(element.clientHeight, 120) };
  const chart = echarts.init(settings.ssr ? null : document.createElement('div'), null, { ...size, ...settings });
  const option = withCommon(element, drawn.get(element.id).option(width < narrowWidth));
  const dataZoom = option.dataZoom?.map((each) => ({ ...each, show: false }));
  chart.setOption({ ...option, backgroundColor: color('paper'), ...(dataZoom ? { dataZoom } : {}) });
  // It is drawn as a whole into a picture: its own layers, which frames would draw, are not needed.
  chart.getZr().animation.stop();
  return chart;
}

function fit(entry, element) {
  if (element.clientWidth === 0) return;
  entry.chart.resize();
  if (entry.narrow !== isNarrow(element)) entry.redraw();
}

const waiting = new Map();
const watcher = new IntersectionObserver((seen) => {
  seen.filter((each) => each.isIntersecting).forEach((each) => drawWaiting(each.target));
}, { rootMargin: '400px' });

function drawWaiting(element) {
  const draw = waiting.get(element);
  if (draw === undefined) return;
  waiting.delete(element);
  watcher.unobserve(element);
  draw();
}

/** Draw a chart when it comes near the window; nothing if the page has no place for it. */
function drawChart(id, option, whenMade) {
  const element = document.getElementById(id);
  if (element === null) return;
  waiting.set(element, () => drawNow(element, option, whenMade));
  watcher.observe(element);
}

function drawAll() {
  [...waiting.keys()].forEach(drawWaiting);
}

function redrawAll() {
  drawn.forEach((entry) => entry.redraw());
}

/** Dispose of a copy when a frame that ECharts requested has passed. */
function discard(chart) {
  setTimeout(() => chart.dispose(), 1000);
}

// ---- paper: light, as wide as a sheet, and drawn at once: print does not wait for the next frame ----

const sheetWidth = 660;
const paperPixels = 3;
let darkBeforePrint = false;

function drawForPaper(element) {
  const room = element.closest('.pair') === null ? sheetWidth : sheetWidth / 2 - 16;
  const chart = copyOf(element, Math.min(element.clientWidth || room, room), { devicePixelRatio: 1 });
  // A picture of more pixels than the layers is drawn as a whole; layers are drawn for some milliseconds a frame.
  const picture = chart.getRenderedCanvas({ pixelRatio: paperPixels, backgroundColor: color('paper') });
  picture.className = 'printed';
  // ECharts lays its layers over each other.
  picture.removeAttribute('style');
  picture.style.width = `${chart.getWidth()}px`;
  element.append(picture);
  discard(chart);
}

addEventListener('beforeprint', () => {
  darkBeforePrint = themeButton.getAttribute('aria-pressed') === 'true';
  document.querySelectorAll('details').forEach((each) => { each.open = true; });
  useDark(false);
  drawAll();
  document.querySelectorAll('.printed').forEach((each) => each.remove());
  drawn.forEach((_, id) => drawForPaper(document.getElementById(id)));
  document.documentElement.classList.add('on-paper');
});
addEventListener('afterprint', () => {
  document.documentElement.classList.remove('on-paper');
  document.querySelectorAll('.printed').forEach((each) => each.remove());
  useDark(darkBeforePrint);
});

// ---- files ----

/** Save a chart as it is on the screen: PNG of twice the pixels, or SVG. */
function saveChart(id, format) {
  const element = document.getElementById(id);
  const svg = format === 'svg';
  const chart = copyOf(element, element.clientWidth, svg ? { renderer: 'svg', ssr: true } : { devicePixelRatio: 1 });
  if (svg) offerText(`${id}.svg`, chart.renderToSVGString(), 'image/svg+xml');
  else offerFile(`${id}.png`, chart.getDataURL({ type: 'png', pixelRatio: 2, backgroundColor: color('paper') }));
  discard(chart);
}

whenColorsChange.push(redrawAll);
for (const button of document.querySelectorAll('[data-save]')) {
  button.addEventListener('click', () => saveChart(button.dataset.save, button.dataset.format));
}
