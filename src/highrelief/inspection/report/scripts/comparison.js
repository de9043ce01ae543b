'use strict';
// Charts of a comparison: one row for each method, a dot for what it reaches, a line for how sure that is.

const methods = contents.methods;
const methodNames = methods.map(({ name }) => name);
const rowRem = 2.1;

/** A chart of rows is as high as its rows need. */
function drawRows(id, names, option) {
  const place = document.getElementById(id);
  if (place === null) return;
  place.style.height = `${5 + rowRem * names.length}rem`;
  drawChart(id, option);
}

function rowAxis(names, narrow) {
  return namedAxis(names, { inverse: true, axisLine: { show: false } }, narrow ? 14 : 24);
}

/** Decades as 0.001 and 1,000; a logarithmic axis is marked at these only. */
function amountAxis(values, own) {
  const log = spansDecades(values);
  return numberAxis({ type: log ? 'log' : 'value', min: log ? undefined : 0, axisLabel: { formatter: figure }, ...own });
}

function rowColor(place) {
  return color(methods[place].is_baseline ? 'soft' : 'accent');
}

function dots(values, own) {
  return {
    type: 'scatter',
    symbol: 'circle',
    symbolSize: 11,
    z: 4,
    data: values.map((value, place) => ({ value: [value ?? '-', place], itemStyle: { color: rowColor(place) } })),
    ...own,
  };
}

function lines(ends, own) {
  return intervals(ends.map(([low, high], place) => [place, low, high]), true, {
    lineStyle: { color: color('soft'), width: 1.5 },
    itemStyle: { color: color('soft') },
    z: 3,
    ...own,
  });
}

/** A share of samples, to a tenth of a per cent. */
function finePercent(value) {
  return value === null ? '–' : `${(100 * value).toFixed(1)}\u00a0%`;
}

// ---- accuracy ----

function aboutAccuracy(method, which) {
  const { accuracy, folds } = method.classifier_results[which];
  return [
    shortly(method.name, 40),
    `mean ${finePercent(accuracy.value)}`,
    `interval ${finePercent(accuracy.lower)} to ${finePercent(accuracy.upper)}`,
    `folds ${finePercent(Math.min(...folds))} to ${finePercent(Math.max(...folds))}`,
  ].join('\n');
}

/** Single folds, spread over the height of the row: many of them score alike. */
function foldDots(which) {
  const data = methods.flatMap(({ classifier_results: results }, place) => {
    const { folds } = results[which];
    const step = 18 / Math.max(folds.length - 1, 1);
    return folds.map((score, fold) => ({ value: [score, place], symbolOffset: [0, fold * step - 9] }));
  });
  return { type: 'scatter', symbolSize: 4, silent: true, itemStyle: { color: color('faint') }, data };
}

function accuracyOption(which, narrow) {
  const results = methods.map((each) => each.classifier_results[which]);
  const least = Math.min(...results.flatMap(({ accuracy, folds }) => [accuracy.lower, ...folds]));
  const means = dots(results.map(({ accuracy }) => accuracy.value));
  const reference = methods.findIndex((each) => each.is_baseline);
  means.markLine = boundary({ xAxis: results[reference].accuracy.value }, '', { show: false });
  return {
    grid: grid({ bottom: 24 }),
    tooltip: { trigger: 'item', formatter: ({ dataIndex }) => aboutAccuracy(methods[dataIndex], which) },
    xAxis: numberAxis({ name: 'accuracy', min: Math.floor(10 * least) / 10, max: 1, axisLabel: { formatter: percent } }),
    yAxis: rowAxis(methodNames, narrow),
    series: [foldDots(which), lines(results.map(({ accuracy }) => [accuracy.lower, accuracy.upper])), means],
  };
}

// ---- stability ----

const chosen = methods.filter((each) => !each.is_baseline);
const chosenNames = chosen.map(({ name }) => name);

function stabilityOption(narrow) {
  const selections = chosen.map((each) => each.selection_stability);
  const rankings = chosen.map((each) => each.ranking_stability);
  const all = [...rankings, ...selections.flatMap(({ value, lower }) => [value, lower])];
  const words = { ranking: 'ranking', selection: 'selection' };
  return {
    grid: grid({ top: 36, bottom: 24 }),
    legend: legend({ data: Object.keys(words), selectedMode: false }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex: place }) => {
        const { value, lower, upper } = selections[place];
        return `${shortly(chosenNames[place], 40)}\nranking ${figure(rankings[place])}\nselection ${figure(value)} (${figure(lower)} to ${figure(upper)})`;
      },
    },
    xAxis: numberAxis({ name: 'stability', min: Math.floor(10 * Math.min(0, ...all)) / 10, max: 1 }),
    yAxis: rowAxis(chosenNames, narrow),
    series: [
      lines(selections.map(({ lower, upper }) => [lower, upper])),
      dots(selections.map(({ value }) => value), { name: words.selection, itemStyle: { color: color('accent') } }),
      {
        ...dots([], { name: words.ranking, symbol: 'diamond', symbolSize: 13, itemStyle: { color: color('positive') } }),
        data: rankings.map((value, place) => [value ?? '-', place]),
      },
    ],
  };
}

// ---- features kept, and time ----

function keptOption(narrow) {
  const sizes = methods.map((each) => each.n_features);
  return {
    grid: grid({ bottom: 24 }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex: place }) => {
        const { value, lower, upper } = sizes[place];
        return `${shortly(methodNames[place], 40)}\nmedian ${count(value)}\n${count(lower)} to ${count(upper)}`;
      },
    },
    xAxis: amountAxis(sizes.map(({ upper }) => upper), { name: 'features kept' }),
    yAxis: rowAxis(methodNames, narrow),
    series: [lines(sizes.map(({ lower, upper }) => [lower, upper])), dots(sizes.map(({ value }) => value))],
  };
}

function timeOption(narrow) {
  const seconds = chosen.map((each) => each.seconds);
  return {
    grid: grid({ bottom: 24 }),
    tooltip: { trigger: 'item', formatter: ({ dataIndex: place }) => `${shortly(chosenNames[place], 40)}\n${figure(seconds[place])} s` },
    xAxis: amountAxis(seconds, { name: 'seconds' }),
    yAxis: rowAxis(chosenNames, narrow),
    series: [dots(seconds)],
  };
}

// ---- start ----

contents.classifiers.forEach((_, which) => drawRows(`accuracy-${which}`, methodNames, (narrow) => accuracyOption(which, narrow)));
drawRows('stability-chart', chosenNames, stabilityOption);
drawRows('kept-chart', methodNames, keptOption);
drawRows('time-chart', chosenNames, timeOption);
