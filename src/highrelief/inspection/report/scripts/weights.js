'use strict';
// The weights of all features as bars, best first, and what of them the reader looks at.

const mostNamed = 60;

const view = { first: 0, last: Math.min(50, numberOfFeatures) - 1, log: false };

function aboutFeature(place) {
  const lines = [
    shortly(features.names[place]),
    `rank ${count(features.ranks[place])}${features.kept[place] ? ', kept' : ''}`,
    `weight ${figure(features.weights[place])}`,
    `rank alone ${count(features.univariate_ranks[place])}`,
  ];
  if (resampled) {
    lines.push(`rank in halves ${rankRange(features.rank_low[place], features.rank_high[place])}`);
  }
  if (features.frequency !== null) {
    lines.push(`among the best in ${percent(features.frequency[place])} of the halves`);
  }
  return lines.join('\n');
}

/** Bars of the features that are kept, or of those that are not. Drawn as one path: there may be 20,000. */
function weightBars(kept) {
  const placed = features.weights.map((weight, place) => [place, weight]);
  return {
    id: kept ? 'kept' : 'others',
    name: kept ? 'kept' : 'others',
    type: 'bar',
    // Weights of 0 or less have no place on a logarithmic scale.
    data: placed.filter(([place, weight]) => features.kept[place] === kept && (!view.log || weight > 0)),
    large: true,
    largeThreshold: 1000,
    progressive: 0,
    barGap: '-100%',
    barCategoryGap: '20%',
    barMaxWidth: 56,
    itemStyle: { color: kept ? color('accent') : color('faint') },
  };
}

/** The feature that was picked in the table. */
function weightMark() {
  const place = markedPlace;
  return {
    id: 'mark',
    type: 'scatter',
    symbol: 'triangle',
    symbolSize: 9,
    symbolRotate: 180,
    symbolOffset: [0, -8],
    silent: true,
    itemStyle: { color: color('ink') },
    label: {
      show: true, position: 'top', color: color('ink'), formatter: () => shortly(features.names[place], 30),
    },
    data: place === null ? [] : [[place, Math.max(features.weights[place], 0)]],
  };
}

/** What stands under the bars: names where they fit, slanted if they are many; ranks where they do not. */
function labeling(narrow) {
  const number = view.last - view.first + 1;
  const named = number <= (narrow ? 20 : mostNamed);
  return { named, slanted: named && number > (narrow ? 2 : 8) };
}

/** The first labels of an axis that are asked for in turn: zooming out, ECharts writes them all once more. */
function firstFew() {
  let [before, asked] = [Infinity, 0];
  return (place) => {
    asked = place > before ? asked + 1 : 1;
    before = place;
    return asked <= mostNamed;
  };
}

function weightLabels(narrow) {
  const { named, slanted } = labeling(narrow);
  return {
    interval: named ? firstFew() : 'auto',
    rotate: slanted ? 60 : 0,
    formatter: (place) => (named ? shortly(features.names[place], 14) : count(features.ranks[place])),
  };
}

/** Where a logarithmic scale begins: below the smallest positive weight, five decades down at most. */
function lowestDecade() {
  const smallest = Math.max(least(features.weights.filter((each) => each > 0)), 1e-5 * largestWeight);
  return 10 ** Math.floor(Math.log10(smallest));
}

function weightsOption(narrow) {
  const shown = {
    kept: `kept (${count(contents.n_kept)})`,
    others: `not kept (${count(contents.n_features - contents.n_kept)})`,
  };
  return {
    grid: grid({ top: 40, bottom: numberOfFeatures > 20 ? 52 : 8 }),
    legend: legend({ data: ['kept', 'others'], icon: 'rect', formatter: (name) => shown[name] }),
    tooltip: barTooltip(aboutFeature),
    // Weights below zero hang under the axis; names stay beneath them.
    xAxis: namedAxis(features.names, { axisLabel: weightLabels(narrow), axisLine: atTheBottom() }),
    yAxis: numberAxis({ name: 'weight', nameGap: 12, ...(view.log ? { type: 'log', min: lowestDecade() } : {}) }),
    dataZoom: [
      slider({ show: numberOfFeatures > 20, startValue: view.first, endValue: view.last }),
      // On a touch screen a finger on the chart scrolls the page; there the slider is for this.
      {
        type: 'inside',
        disabled: matchMedia('(pointer: coarse)').matches,
        startValue: view.first,
        endValue: view.last,
        zoomOnMouseWheel: 'ctrl',
        moveOnMouseMove: true,
      },
    ],
    series: [weightBars(true), weightBars(false), weightMark()],
  };
}

const bestButtons = [...document.querySelectorAll('[data-best]')];

function sayWhichAreShown() {
  for (const button of bestButtons) {
    const whole = view.first === 0 && view.last === Number(button.dataset.best) - 1;
    button.setAttribute('aria-pressed', String(whole));
  }
}

function weightsChart() {
  drawWaiting(document.getElementById('weights-chart'));
  return drawn.get('weights-chart').chart;
}

function showFeatures(first, last) {
  weightsChart().dispatchAction({ type: 'dataZoom', startValue: first, endValue: last });
}

/** Show a feature in the chart, in the middle of the window, and its row as marked. */
function markFeature(place) {
  const before = markedPlace;
  markedPlace = place;
  const width = Math.min(view.last - view.first, mostNamed - 1);
  const first = Math.max(0, Math.min(place - Math.floor(width / 2), numberOfFeatures - 1 - width));
  if (place < view.first || place > view.last) showFeatures(first, first + width);
  weightsChart().setOption({ series: [weightMark()] });
  [before, place].filter((each) => each !== null).forEach((each) => rankingTable.getRow(each).reformat());
}

/** ECharts takes every turn of the wheel for itself, also those it does not zoom by: leave these to the page. */
function leaveTheWheel(place) {
  const leave = (event) => { if (!event.ctrlKey) event.stopPropagation(); };
  ['wheel', 'mousewheel'].forEach((kind) => place.addEventListener(kind, leave, { capture: true, passive: true }));
}

drawChart('weights-chart', weightsOption, (chart) => {
  leaveTheWheel(chart.getDom());
  const watch = () => {
    const narrow = isNarrow(chart.getDom());
    const before = labeling(narrow);
    const [zoom] = chart.getOption().dataZoom;
    Object.assign(view, { first: zoom.startValue, last: zoom.endValue });
    const { named, slanted } = labeling(narrow);
    if (named !== before.named || slanted !== before.slanted) {
      chart.setOption({ xAxis: { axisLabel: weightLabels(narrow) } });
    }
    sayWhichAreShown();
  };
  chart.on('datazoom', watch);
  if (isNarrow(chart.getDom())) showFeatures(0, Math.min(20, numberOfFeatures) - 1);
  sayWhichAreShown();
});
const logButton = document.getElementById('log-scale');
if (logButton !== null) {
  logButton.hidden = !spansDecades(features.weights);
  logButton.addEventListener('click', () => {
    view.log = !view.log;
    logButton.setAttribute('aria-pressed', String(view.log));
    weightsChart();
    drawn.get('weights-chart').redraw();
  });
}
for (const button of bestButtons) {
  button.addEventListener('click', () => showFeatures(0, Number(button.dataset.best) - 1));
}
