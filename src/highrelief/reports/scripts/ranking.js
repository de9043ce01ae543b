'use strict';
// The charts of a ranking, as options for ECharts.

const numberOfFeatures = features.names.length;
const mostNamed = 60;

// ---- weights ----

const view = { first: 0, last: Math.min(50, numberOfFeatures) - 1 };

function aboutFeature(place) {
  const lines = [
    shortly(features.names[place]),
    `rank ${count(features.ranks[place])}${features.kept[place] ? ', kept' : ''}`,
    `weight ${figure(features.weights[place])}`,
    `rank alone ${count(features.ranks_alone[place])}`,
  ];
  if (resampled) lines.push(`rank, resampled ${rankRange(features.rank_low[place], features.rank_high[place])}`);
  if (features.frequency !== null) lines.push(`among the best in ${percent(features.frequency[place])} of the resamples`);
  return lines.join('\n');
}

/** Bars of the features that are kept, or of those that are not. Drawn as one path: there may be 20,000. */
function weightBars(kept) {
  const data = features.weights.flatMap((weight, place) => (features.kept[place] === kept ? [[place, weight]] : []));
  return {
    id: kept ? 'kept' : 'others',
    name: kept ? 'kept' : 'others',
    type: 'bar',
    data,
    large: true,
    largeThreshold: 1000,
    progressive: 0,
    barGap: '-100%',
    barCategoryGap: '20%',
    barMaxWidth: 56,
    itemStyle: { color: kept ? colour('accent') : colour('faint') },
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
    itemStyle: { color: colour('ink') },
    label: { show: true, position: 'top', color: colour('ink'), formatter: () => shortly(features.names[place], 30) },
    data: place === null ? [] : [[place, Math.max(features.weights[place], 0)]],
  };
}

/** Names under the bars where they fit, ranks where they do not. */
function weightLabels(narrow) {
  const number = view.last - view.first + 1;
  const named = number <= (narrow ? 20 : mostNamed);
  return {
    interval: named ? 0 : 'auto',
    rotate: named && number > (narrow ? 2 : 8) ? 60 : 0,
    formatter: (place) => (named ? shortly(features.names[place], 14) : count(features.ranks[place])),
  };
}

function weightsOption(narrow) {
  const numberKept = features.kept.filter(Boolean).length;
  const shown = { kept: `kept (${count(numberKept)})`, others: `not kept (${count(numberOfFeatures - numberKept)})` };
  return {
    grid: grid({ top: 40, bottom: numberOfFeatures > 20 ? 52 : 8 }),
    legend: legend({ data: ['kept', 'others'], icon: 'rect', selectedMode: false, formatter: (name) => shown[name] }),
    tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: ([first]) => aboutFeature(Number(first.axisValue)) },
    // Weights below zero hang under the axis; names stay beneath them.
    xAxis: namedAxis(features.names, { axisLabel: weightLabels(narrow), axisLine: { onZero: false, lineStyle: { color: colour('faint') } } }),
    yAxis: numberAxis({ name: 'weight', nameGap: 12 }),
    dataZoom: [
      { type: 'slider', show: numberOfFeatures > 20, bottom: 10, height: 20, startValue: view.first, endValue: view.last, showDetail: false, brushSelect: false, borderColor: colour('rule'), fillerColor: `${colour('accent')}22`, handleStyle: { color: colour('paper'), borderColor: colour('accent') }, moveHandleStyle: { color: colour('faint') }, dataBackground: { lineStyle: { color: colour('faint') }, areaStyle: { color: colour('rule') } }, selectedDataBackground: { lineStyle: { color: colour('accent') }, areaStyle: { color: colour('accent-wash') } } },
      // On a touch screen a finger on the chart scrolls the page; there the slider is for this.
      { type: 'inside', disabled: matchMedia('(pointer: coarse)').matches, startValue: view.first, endValue: view.last, zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true },
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

drawChart('weights-chart', weightsOption, (chart) => {
  const watch = () => {
    const [zoom] = chart.getOption().dataZoom;
    Object.assign(view, { first: zoom.startValue, last: zoom.endValue });
    chart.setOption({ xAxis: { axisLabel: weightLabels(isNarrow(chart.getDom())) } });
    sayWhichAreShown();
  };
  chart.on('datazoom', watch);
  if (isNarrow(chart.getDom())) showFeatures(0, Math.min(20, numberOfFeatures) - 1);
  sayWhichAreShown();
});
bestButtons.forEach((button) => button.addEventListener('click', () => showFeatures(0, Number(button.dataset.best) - 1)));

// ---- convergence ----

function convergenceOption() {
  const { steps, tolerance, cycle_length: cycle } = contents.convergence;
  const log = spansDecades(steps);
  const line = {
    type: 'line',
    symbol: steps.length > 60 ? 'none' : 'circle',
    symbolSize: 5,
    lineStyle: { color: colour('accent'), width: 2 },
    itemStyle: { color: colour('accent') },
    data: steps.map((step, place) => [place + 1, log && step <= 0 ? '-' : step]),
  };
  if (tolerance !== null && (!log || tolerance > 0)) line.markLine = boundary({ yAxis: tolerance }, `stops at ${figure(tolerance)}`);
  if (cycle > 0) {
    line.markArea = {
      silent: true,
      itemStyle: { color: colour('warm'), opacity: 0.14 },
      label: { color: colour('warm'), formatter: () => `cycle of ${count(cycle)}` },
      data: [[{ xAxis: Math.max(1, steps.length - cycle) }, { xAxis: steps.length }]],
    };
  }
  const lowest = least([...steps, tolerance ?? Infinity].filter((each) => each > 0));
  return {
    grid: grid({ bottom: 24 }),
    tooltip: { trigger: 'axis', formatter: ([step]) => `step ${count(step.value[0])}\n${figure(steps[step.value[0] - 1])}` },
    xAxis: numberAxis({ name: 'step', min: 1, max: Math.max(steps.length, 2), minInterval: 1, splitLine: { show: false } }),
    yAxis: numberAxis(log ? { type: 'log', min: 10 ** Math.floor(Math.log10(lowest)) } : {}),
    series: [line],
  };
}

// ---- stability ----

function stabilityOption() {
  const { sizes, by_size: estimates } = contents.stability;
  const ends = estimates.map(({ lower, upper }, place) => [sizes[place], lower, upper]);
  const lowest = least([0, ...ends.map(([, lower]) => lower ?? 0)]);
  return {
    grid: grid({ bottom: 24 }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex }) => {
        const { value, lower, upper } = estimates[dataIndex];
        return `best ${count(sizes[dataIndex])}\nstability ${figure(value)}\n95 %: ${figure(lower)} to ${figure(upper)}`;
      },
    },
    xAxis: numberAxis({ type: 'log', name: 'features that count as the best', axisLabel: { formatter: count }, splitLine: { show: false } }),
    yAxis: numberAxis({ min: Math.floor(lowest * 5) / 5, max: 1 }),
    series: [
      intervals(ends, false, { lineStyle: { color: colour('accent'), width: 1.5 }, itemStyle: { color: colour('accent') } }),
      {
        type: 'line',
        symbolSize: 8,
        symbol: 'circle',
        lineStyle: { color: colour('accent'), width: 2 },
        itemStyle: { color: colour('accent') },
        data: estimates.map(({ value }, place) => [sizes[place], value ?? '-']),
      },
    ],
  };
}

const mostIntervals = Math.min(contents.n_intervals, numberOfFeatures);
const bestNames = features.names.slice(0, mostIntervals);
const downwards = { inverse: true, axisLine: { show: false } };

function intervalsOption(narrow) {
  const ends = bestNames.map((_, place) => [place, features.rank_low[place], features.rank_high[place]]);
  const log = spansDecades(ends.flatMap(([, low, high]) => [low, high]));
  return {
    grid: grid({ bottom: 24 }),
    tooltip: { trigger: 'item', formatter: ({ value }) => aboutFeature(value[1]) },
    xAxis: numberAxis({ type: log ? 'log' : 'value', name: 'rank', min: log ? 1 : undefined, axisLabel: { formatter: count } }),
    yAxis: namedAxis(bestNames, downwards, narrow ? 15 : 20),
    series: [
      intervals(ends, true, { lineStyle: { color: colour('accent'), width: 1.5 }, itemStyle: { color: colour('accent') } }),
      {
        type: 'scatter',
        symbolSize: 9,
        itemStyle: { color: colour('accent') },
        data: bestNames.map((_, place) => [features.ranks[place], place]),
      },
    ],
  };
}

function frequencyOption(narrow) {
  return {
    grid: grid({ bottom: 24, right: 44 }),
    tooltip: { trigger: 'item', formatter: ({ dataIndex }) => aboutFeature(dataIndex) },
    xAxis: numberAxis({ name: 'share of the resamples', min: 0, max: 1, interval: narrow ? 0.5 : 0.2, axisLabel: { formatter: percent } }),
    yAxis: namedAxis(bestNames, downwards, narrow ? 15 : 20),
    series: [{
      type: 'bar',
      barCategoryGap: '45%',
      itemStyle: { color: colour('accent') },
      label: { show: true, position: 'right', color: colour('soft'), formatter: ({ dataIndex }) => percent(features.frequency[dataIndex]) },
      data: features.frequency.slice(0, mostIntervals),
    }],
  };
}

// ---- samples ----

/** Places of the samples: class by class, the largest margin first. */
function samplesInOrder() {
  const { classes, margins } = contents.samples;
  const places = classes.map((_, place) => place);
  return places.sort((a, b) => classes[a] - classes[b] || (margins[b] ?? -Infinity) - (margins[a] ?? -Infinity));
}

function aboutSample(place) {
  const { names, classes, margins, outlier_probability: outlier, suspects } = contents.samples;
  const lines = [shortly(names[place]), className(classes[place], 40), `margin ${figure(margins[place])}`];
  if (outlier !== null) lines.push(`outlier probability ${figure(outlier[place])}`);
  if (suspects.includes(place)) lines.push('may be mislabelled');
  return lines.join('\n');
}

function samplesOption() {
  const { names, classes, margins, suspects } = contents.samples;
  const order = samplesInOrder();
  const at = new Map(order.map((sample, place) => [sample, place]));
  const bars = contents.classes.map((_, which) => ({
    type: 'bar',
    name: String(which),
    barGap: '-100%',
    barCategoryGap: '15%',
    large: true,
    largeThreshold: 2000,
    itemStyle: { color: classColour(which) },
    data: order.flatMap((sample, place) => (classes[sample] === which ? [[place, margins[sample] ?? '-']] : [])),
  }));
  const marks = {
    type: 'scatter',
    symbol: 'diamond',
    symbolSize: 11,
    itemStyle: { color: colour('paper'), borderColor: colour('ink'), borderWidth: 1.5 },
    data: suspects.map((sample) => [at.get(sample), margins[sample] ?? 0]),
    z: 5,
  };
  return {
    grid: grid({ top: 44, bottom: 28 }),
    legend: legend({
      type: 'scroll',
      icon: 'rect',
      selectedMode: false,
      data: contents.classes.map((_, which) => String(which)),
      formatter: (which) => `${className(which, 24)} (${count(contents.class_sizes[which])})`,
    }),
    tooltip: { trigger: 'axis', axisPointer: { type: 'shadow' }, formatter: ([first]) => aboutSample(order[Number(first.axisValue)]) },
    xAxis: namedAxis(names, { name: 'samples, class by class', nameGap: 12, axisLabel: { show: false }, axisLine: { onZero: true, lineStyle: { color: colour('soft') } } }),
    yAxis: numberAxis({ name: 'margin', nameGap: 12 }),
    series: [...bars, marks],
  };
}

// ---- distributions ----

function distributionOption({ boxes, points }, narrow) {
  const crowded = boxes.length > (narrow ? 2 : 3);
  const boxed = boxes.map((box, which) => ({
    value: box.length === 5 ? box : ['-', '-', '-', '-', '-'],
    itemStyle: { color: 'transparent', borderColor: classColour(which), borderWidth: 1.5 },
  }));
  const dots = points.map((values, which) => ({
    type: 'scatter',
    symbol: classSymbol(which),
    symbolSize: 5,
    silent: true,
    itemStyle: { color: classColour(which), opacity: 0.45 },
    data: values.map((value) => [which, value]),
  }));
  return {
    grid: grid({ left: 0, right: 4, top: 10, bottom: 4 }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex: which }) => {
        const [smallest, lower, median, upper, largest] = boxes[which].map(figure);
        return `${className(which, 30)}\nmedian ${median}\nmiddle half ${lower} to ${upper}\nall ${smallest} to ${largest}`;
      },
    },
    xAxis: namedAxis(contents.classes, { jitter: crowded ? 8 : 22, axisLine: { onZero: false, lineStyle: { color: colour('faint') } }, axisLabel: { rotate: crowded ? 60 : 0, fontSize: narrow ? 10 : 12, formatter: (which) => className(which, narrow ? 7 : 10) } }),
    yAxis: numberAxis({ scale: true, splitNumber: 4 }),
    series: [...dots, { type: 'boxplot', boxWidth: [10, 44], data: boxed }],
  };
}

// ---- correlations ----

function correlationsOption(narrow) {
  const { names, ranks, matrix } = contents.correlations;
  const cells = matrix.flatMap((row, i) => row.map((value, j) => [j, i, value ?? '-']));
  const length = narrow ? 9 : 16;
  const labels = narrow ? { fontSize: 9, interval: names.length > 15 ? 1 : 0 } : {};
  return {
    grid: grid({ left: 0, right: 4, bottom: 56 }),
    tooltip: {
      formatter: ({ value: [j, i, value] }) => `${shortly(names[i], 40)} (rank ${count(ranks[i])})\n${shortly(names[j], 40)} (rank ${count(ranks[j])})\ncorrelation ${figure(value === '-' ? null : value)}`,
    },
    xAxis: namedAxis(names, { axisLabel: { rotate: 60, ...labels } }, length),
    yAxis: namedAxis(names, { inverse: true, axisLabel: labels }, length),
    visualMap: {
      type: 'continuous',
      min: -1,
      max: 1,
      orient: 'horizontal',
      left: 'center',
      bottom: 0,
      itemWidth: 12,
      itemHeight: narrow ? 140 : 240,
      text: ['1', '−1'],
      textStyle: { color: colour('soft') },
      inRange: { color: [colour('negative'), colour('middle'), colour('positive')] },
    },
    series: [{ type: 'heatmap', data: cells, itemStyle: { borderColor: colour('paper'), borderWidth: 1 } }],
  };
}

// ---- start ----

drawChart('convergence-chart', convergenceOption);
drawChart('stability-chart', stabilityOption);
drawChart('intervals-chart', intervalsOption);
drawChart('frequency-chart', frequencyOption);
drawChart('samples-chart', samplesOption);
contents.distributions.forEach((each, place) => drawChart(`distribution-${place}`, () => distributionOption(each, innerWidth < narrowWidth)));
drawChart('correlations-chart', correlationsOption);
