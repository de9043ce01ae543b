'use strict';
// What else is found of a ranking, chart by chart, as options for ECharts.

const wholeLabels = { axisLabel: { formatter: count } };
const unruled = { splitLine: { show: false } };

/** Colors of values from -limit to limit, with a legend below the chart. */
function divergingColors(limit, length, text) {
  return {
    type: 'continuous',
    min: -limit,
    max: limit,
    orient: 'horizontal',
    left: 'center',
    bottom: 0,
    itemWidth: 12,
    itemHeight: length,
    text,
    textStyle: { color: color('soft') },
    inRange: { color: [color('negative'), color('middle'), color('positive')] },
  };
}

// ---- the finding ----

/** Weights of the best features as bars; those to keep stand out, and so does what chance reaches. */
function findingOption(narrow) {
  const { threshold } = contents.finding;
  const number = Math.min(contents.n_finding, narrow ? 15 : contents.n_finding);
  const names = features.names.slice(0, number);
  const weights = features.weights.slice(0, number);
  const bars = {
    type: 'bar',
    barCategoryGap: '25%',
    barMaxWidth: 56,
    data: weights.map((weight, place) => ({
      value: weight, itemStyle: { color: color(features.kept[place] ? 'accent' : 'faint') },
    })),
  };
  // A line far above all bars would flatten them.
  if (threshold !== null && threshold < 3 * Math.max(...weights)) {
    bars.markLine = boundary({ yAxis: threshold }, 'beyond chance', { position: 'insideEndTop' });
  }
  const highest = Math.max(...weights, bars.markLine ? threshold : 0);
  return {
    grid: grid({ top: 12 }),
    tooltip: barTooltip(aboutFeature),
    xAxis: namedAxis(names, {
      axisLine: atTheBottom(),
      axisLabel: { rotate: number > (narrow ? 3 : 10) ? 60 : 0, interval: number > 40 ? 1 : 0 },
    }, number > 10 ? 14 : 20),
    yAxis: numberAxis({ name: 'weight', nameGap: 12, max: highest > 0 ? undefined : 1 }),
    series: [bars],
  };
}

// ---- pairs ----

/** Class shares by the values of two features: a table of few values. */
function pairTableOption({ first, second, first_levels: rows, second_levels: columns, counts }) {
  const two = counts.length === 2;
  const last = counts.length - 1;
  const about = (i, j) => {
    const numbers = counts.map((of) => of[i][j]);
    const all = numbers.reduce((sum, each) => sum + each, 0);
    const which = two || contents.continuous_target ? last : numbers.indexOf(Math.max(...numbers));
    return { all, which, share: all > 0 ? numbers[which] / all : null };
  };
  const cells = rows.flatMap((_, i) => columns.map((__, j) => {
    const { all, which, share } = about(i, j);
    const hue = two || contents.continuous_target ? color('accent') : classColor(which);
    const dark = share !== null && share > 0.55;
    return {
      value: [j, i, share ?? '-'],
      itemStyle: { color: share === null ? color('raised') : mixed(hue, share), borderColor: color('paper'), borderWidth: 2 },
      label: { color: dark ? color('paper') : color('ink') },
      written: all === 0 ? 'none' : `${two || contents.continuous_target ? '' : `${className(which, 10)} `}${percent(share)}\n${count(all)}`,
    };
  }));
  return {
    grid: grid({ left: 8, right: 8, top: 8, bottom: 26 }),
    tooltip: {
      formatter: ({ value: [j, i] }) => [
        `${shortly(first, 30)} = ${shortly(rows[i], 20)}, ${shortly(second, 30)} = ${shortly(columns[j], 20)}`,
        ...counts.map((of, which) => `${className(which, 30)}: ${count(of[i][j])}`),
      ].join('\n'),
    },
    xAxis: namedAxis(columns, { name: shortly(second, 30), nameGap: 24, axisLine: { show: false } }, 10),
    yAxis: namedAxis(rows, { name: shortly(first, 30), nameGap: 8, inverse: true, axisLine: { show: false } }, 10),
    series: [{
      type: 'heatmap', data: cells, label: { show: true, fontSize: 11, lineHeight: 15, formatter: ({ data }) => data.written },
    }],
  };
}

/** A color between that of the page and another. */
function mixed(hue, share) {
  const parts = [color('paper'), hue].map((each) => each.match(/[\da-f]{2}/gi).map((part) => parseInt(part, 16)));
  const between = parts[0].map((from, place) => Math.round(from + (parts[1][place] - from) * (0.06 + 0.94 * share)));
  return `rgb(${between.join(', ')})`;
}

function pairPointsOption({ first, second, points }) {
  return {
    grid: grid({ top: 34, bottom: 26, left: 20 }),
    legend: legend({
      type: 'scroll', data: points.map((_, which) => String(which)), formatter: (which) => className(which, 16),
    }),
    xAxis: numberAxis({ name: shortly(first, 40), scale: true }),
    yAxis: numberAxis({ name: shortly(second, 40), scale: true, nameGap: 8 }),
    series: points.map((data, which) => ({
      type: 'scatter',
      name: String(which),
      symbol: classSymbol(which),
      symbolSize: 6,
      silent: true,
      itemStyle: { color: classColor(which), opacity: 0.65 },
      data,
    })),
  };
}

// ---- the best features over the samples ----

function mapOption(narrow) {
  const { features: names, names: sampleNames, classes, values } = contents.sample_map;
  const cells = values.flatMap((row, i) => row.map((value, j) => [j, i + 1, value ?? '-']));
  const bands = classes.map((which, j) => ({ value: [j, 0, 0], itemStyle: { color: classColor(which) } }));
  const rows = [contents.continuous_target ? 'third' : 'class', ...names];
  return {
    grid: grid({ left: 0, right: 4, top: 30, bottom: 44 }),
    legend: legend({
      type: 'scroll',
      icon: 'rect',
      data: contents.classes.map((_, which) => String(which)),
      formatter: (which) => className(which, 20),
    }),
    tooltip: {
      formatter: ({ value: [j, i] }) => {
        const lines = [shortly(sampleNames[j], 40), className(classes[j], 30)];
        if (i > 0) lines.push(`${shortly(names[i - 1], 40)}: ${figure(values[i - 1][j])}`);
        return lines.join('\n');
      },
    },
    xAxis: namedAxis(sampleNames, { name: 'samples', nameGap: 8, axisLabel: { show: false }, axisLine: { show: false } }),
    yAxis: namedAxis(rows, { inverse: true, axisLine: { show: false }, axisLabel: { fontSize: narrow ? 9 : 11 } }, narrow ? 9 : 18),
    visualMap: { seriesIndex: 0, ...divergingColors(2.5, narrow ? 120 : 200, ['+2.5', '−2.5']) },
    series: [
      { type: 'heatmap', data: cells, progressive: 0 },
      { type: 'heatmap', data: bands, progressive: 0 },
      // Names of the classes for the legend.
      ...contents.classes.map((_, which) => ({
        type: 'scatter', name: String(which), data: [], itemStyle: { color: classColor(which) },
      })),
    ],
  };
}

// ---- convergence ----

function convergenceOption() {
  const { steps, tolerance, cycle_length: cycle } = contents.convergence;
  const log = spansDecades(steps);
  const line = {
    type: 'line',
    symbol: steps.length > 60 ? 'none' : 'circle',
    symbolSize: 5,
    lineStyle: { color: color('accent'), width: 2 },
    itemStyle: { color: color('accent') },
    data: steps.map((step, place) => [place + 1, log && step <= 0 ? '-' : step]),
  };
  if (tolerance !== null && (!log || tolerance > 0)) {
    line.markLine = boundary({ yAxis: tolerance }, `stops at ${figure(tolerance)}`);
  }
  if (cycle > 0) {
    line.markArea = {
      silent: true,
      itemStyle: { color: color('warm'), opacity: 0.14 },
      label: { color: color('warm'), formatter: () => `cycle of ${count(cycle)}` },
      data: [[{ xAxis: Math.max(1, steps.length - cycle) }, { xAxis: steps.length }]],
    };
  }
  const lowest = least([...steps, tolerance ?? Infinity].filter((each) => each > 0));
  return {
    grid: grid({ bottom: 24 }),
    tooltip: { trigger: 'axis', formatter: ([{ value: [step] }]) => `step ${count(step)}\n${figure(steps[step - 1])}` },
    xAxis: numberAxis({ name: 'step', min: 1, max: Math.max(steps.length, 2), minInterval: 1, ...unruled }),
    yAxis: numberAxis(log ? { type: 'log', min: 10 ** Math.floor(Math.log10(lowest)) } : {}),
    series: [line],
  };
}

// ---- stability ----

function stabilityOption() {
  const { sizes, by_size: estimates } = contents.stability;
  const ends = estimates.map(({ lower, upper }, place) => [sizes[place], lower, upper]);
  const lowest = least([0, ...ends.map(([, lower]) => lower ?? 0)]);
  // What lies a hair below zero, as the agreement of nothing does, needs no step of its own.
  const bottom = Math.min(0, Math.floor(5 * (lowest + 0.05)) / 5);
  return {
    grid: grid({ bottom: 24 }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex }) => {
        const { value, lower, upper } = estimates[dataIndex];
        const interval = `${figure(lower)} to ${figure(upper)}`;
        return `best ${count(sizes[dataIndex])}\nstability ${figure(value)}\n95 %: ${interval}`;
      },
    },
    xAxis: numberAxis({
      type: 'log', name: 'features that count as the best', min: 1, max: Math.max(2, ...sizes), ...wholeLabels, ...unruled,
    }),
    yAxis: numberAxis({ min: bottom, max: 1 }),
    series: [
      intervals(ends, false, { clip: false }),
      {
        type: 'line',
        symbolSize: 8,
        symbol: 'circle',
        lineStyle: { color: color('accent'), width: 2 },
        itemStyle: { color: color('accent') },
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
    xAxis: numberAxis({ name: 'rank', min: 1, minInterval: 1, ...wholeLabels, ...(log ? { type: 'log' } : {}) }),
    yAxis: namedAxis(bestNames, downwards, narrow ? 15 : 20),
    series: [
      intervals(ends, true),
      {
        type: 'scatter',
        symbolSize: 9,
        itemStyle: { color: color('accent') },
        data: bestNames.map((_, place) => [features.ranks[place], place]),
      },
    ],
  };
}

function frequencyOption(narrow) {
  return {
    grid: grid({ bottom: 24, right: 44 }),
    tooltip: { trigger: 'item', formatter: ({ dataIndex }) => aboutFeature(dataIndex) },
    xAxis: numberAxis({
      name: 'share of the halves', min: 0, max: 1, interval: narrow ? 0.5 : 0.2, axisLabel: { formatter: percent },
    }),
    yAxis: namedAxis(bestNames, downwards, narrow ? 15 : 20),
    series: [{
      type: 'bar',
      barCategoryGap: '45%',
      itemStyle: { color: color('accent') },
      label: {
        show: true, position: 'right', color: color('soft'), formatter: ({ value }) => percent(value),
      },
      data: features.frequency.slice(0, mostIntervals),
    }],
  };
}

// ---- samples ----

/** Places of the samples: class by class, the largest margin first. */
function samplesInOrder() {
  const { classes, margins } = contents.samples;
  const places = classes.map((_, place) => place);
  const margin = (place) => margins[place] ?? -Number.MAX_VALUE;
  return places.sort((a, b) => classes[a] - classes[b] || margin(b) - margin(a));
}

function aboutSample(place) {
  const { names, classes, margins, outlier_probability: outlier, suspects } = contents.samples;
  const lines = [shortly(names[place]), className(classes[place], 40), `margin ${figure(margins[place])}`];
  if (outlier !== null) lines.push(`outlier probability ${figure(outlier[place])}`);
  if (outlier !== null && suspects.includes(place)) lines.push('may be mislabeled');
  return lines.join('\n');
}

function samplesOption() {
  const { names, classes, margins, suspects } = contents.samples;
  const order = samplesInOrder();
  const placed = order.map((sample, place) => [place, sample]);
  const at = new Map(order.map((sample, place) => [sample, place]));
  const bars = contents.classes.map((_, which) => ({
    type: 'bar',
    name: String(which),
    barGap: '-100%',
    barCategoryGap: '15%',
    large: true,
    largeThreshold: 2000,
    itemStyle: { color: classColor(which) },
    data: placed.filter(([, sample]) => classes[sample] === which).map(([place, sample]) => [place, margins[sample] ?? '-']),
  }));
  const marks = {
    type: 'scatter',
    symbol: 'diamond',
    symbolSize: 11,
    itemStyle: { color: color('paper'), borderColor: color('ink'), borderWidth: 1.5 },
    data: suspects.map((sample) => [at.get(sample), margins[sample] ?? 0]),
    z: 5,
  };
  return {
    grid: grid({ top: 44, bottom: 28 }),
    legend: legend({
      type: 'scroll',
      icon: 'rect',
      data: contents.classes.map((_, which) => String(which)),
      formatter: (which) => `${className(which, 24)} (${count(contents.class_sizes[which])})`,
    }),
    tooltip: barTooltip((place) => aboutSample(order[place])),
    xAxis: namedAxis(names, { name: 'samples, class by class', nameGap: 12, axisLabel: { show: false } }),
    yAxis: numberAxis({ name: 'margin', nameGap: 12 }),
    series: [...bars, marks],
  };
}

// ---- distributions ----

function distributionOption({ boxes, points }, narrow) {
  const crowded = boxes.length > (narrow ? 2 : 3);
  const boxed = boxes.map((box, which) => ({
    value: box.length === 5 ? box : ['-', '-', '-', '-', '-'],
    itemStyle: { color: 'transparent', borderColor: classColor(which), borderWidth: 1.5 },
  }));
  const dots = points.map((values, which) => ({
    type: 'scatter',
    symbol: classSymbol(which),
    symbolSize: 5,
    silent: true,
    itemStyle: { color: classColor(which), opacity: 0.45 },
    data: values.map((value) => [which, value]),
  }));
  return {
    grid: grid({ left: 0, right: 4, top: 10, bottom: 4 }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex: which }) => {
        const [smallest, lower, median, upper, largest] = boxes[which].map(figure);
        const spread = `middle half ${lower} to ${upper}\nall ${smallest} to ${largest}`;
        return `${className(which, 30)}\nmedian ${median}\n${spread}`;
      },
    },
    xAxis: namedAxis(contents.classes, {
      jitter: crowded ? 8 : 22,
      axisLine: atTheBottom(),
      axisLabel: {
        rotate: crowded ? 60 : 0,
        fontSize: narrow ? 10 : 12,
        formatter: (which) => className(which, narrow ? 7 : 10),
      },
    }),
    yAxis: numberAxis({ scale: true, splitNumber: 4 }),
    series: [...dots, { type: 'boxplot', boxWidth: [10, 44], data: boxed }],
  };
}

/** Shares of the levels of a category, class by class. */
function levelsOption({ levels, shares }, narrow) {
  const crowded = levels.length > (narrow ? 3 : 4);
  return {
    grid: grid({ left: 0, right: 4, top: 34, bottom: 4 }),
    legend: legend({
      type: 'scroll',
      icon: 'rect',
      data: shares.map((_, which) => String(which)),
      formatter: (which) => className(which, narrow ? 8 : 14),
    }),
    tooltip: {
      trigger: 'item',
      formatter: ({ dataIndex: level, seriesIndex: which }) => {
        return `${className(which, 30)}\n${shortly(levels[level], 40)}: ${percent(shares[which][level])}`;
      },
    },
    xAxis: namedAxis(levels, {
      axisLabel: {
        rotate: crowded ? 60 : 0,
        fontSize: narrow ? 10 : 12,
        formatter: (level) => shortly(levels[level], narrow ? 7 : 10),
      },
    }),
    yAxis: numberAxis({ min: 0, splitNumber: 4, axisLabel: { formatter: percent } }),
    series: shares.map((own, which) => ({
      type: 'bar',
      name: String(which),
      barGap: '0%',
      itemStyle: { color: classColor(which) },
      data: own,
    })),
  };
}

// ---- correlations ----

function correlationsOption(narrow) {
  const { names, ranks, matrix } = contents.correlations;
  const cells = matrix.flatMap((row, i) => row.map((value, j) => [j, i, value ?? '-']));
  const named = (place) => `${shortly(names[place], 40)} (rank ${count(ranks[place])})`;
  const length = narrow ? 9 : 16;
  const labels = narrow ? { fontSize: 9, interval: names.length > 15 ? 1 : 0 } : {};
  return {
    grid: grid({ left: 0, right: 4, bottom: 56 }),
    tooltip: {
      formatter: ({ value: [j, i] }) => `${named(i)}\n${named(j)}\ncorrelation ${figure(matrix[i][j])}`,
    },
    xAxis: namedAxis(names, { axisLabel: { rotate: 60, ...labels } }, length),
    yAxis: namedAxis(names, { inverse: true, axisLabel: labels }, length),
    visualMap: divergingColors(1, narrow ? 140 : 240, ['1', '−1']),
    series: [{ type: 'heatmap', data: cells, itemStyle: { borderColor: color('paper'), borderWidth: 1 } }],
  };
}

// ---- interactions ----

/** Features that have a weight to lose; rows of the others would be empty. */
function losingFeatures() {
  const { losses } = contents.interactions;
  return losses.flatMap((row, place) => (row.some((value) => value !== null) ? [place] : []));
}

/** What part of the weight of a row disappears without the column; what is within noise is faint. */
function interactionsOption(narrow) {
  const { names, ranks, losses, clear } = contents.interactions;
  const rows = losingFeatures();
  const faint = (i, j) => clear !== null && !clear[i][j];
  const cells = rows.flatMap((i, row) => losses[i].map((value, j) => ({
    // Beyond 1 and −1 the color stays what it is there.
    value: [j, row, value === null ? '-' : Math.max(-1, Math.min(1, value))],
    itemStyle: { opacity: faint(i, j) ? 0.25 : 1 },
    label: { show: !narrow && value !== null && !faint(i, j), color: color(Math.abs(value) > 0.6 ? 'paper' : 'ink') },
  })));
  const named = (place) => `${shortly(names[place], 40)} (rank ${count(ranks[place])})`;
  const lost = (i, j) => percent(losses[i][j]).replace('-', '−');
  const length = narrow ? 9 : 16;
  const labels = narrow ? { fontSize: 9 } : {};
  return {
    grid: grid({ left: 0, right: 4, bottom: 56 }),
    tooltip: {
      formatter: ({ value: [j, row] }) => {
        const i = rows[row];
        if (losses[i][j] === null) return named(i);
        const noise = faint(i, j) ? ' (within noise)' : '';
        return `${named(i)}\nwithout ${named(j)}\nloses ${lost(i, j)} of its weight${noise}`;
      },
    },
    xAxis: namedAxis(names, { axisLabel: { rotate: 60, ...labels } }, length),
    yAxis: namedAxis(rows.map((place) => names[place]), { inverse: true, axisLabel: labels }, length),
    visualMap: divergingColors(1, narrow ? 140 : 240, ['loses all', 'doubles']),
    series: [{
      type: 'heatmap',
      data: cells,
      itemStyle: { borderColor: color('paper'), borderWidth: 1 },
      label: { fontSize: 11, formatter: ({ value: [j, row] }) => lost(rows[row], j) },
    }],
  };
}

// ---- start ----

/** A chart that holds one row for each feature is as high as these need, and at most as the style says. */
function fitRows(id, number, around, rowRem) {
  const place = document.getElementById(id);
  if (place !== null) place.style.maxHeight = `${around + rowRem * number}rem`;
  return place;
}

for (const id of ['intervals-chart', 'frequency-chart']) fitRows(id, mostIntervals, 5, 1.6);
if (contents.correlations !== null) {
  const number = contents.correlations.names.length;
  const place = fitRows('correlations-chart', number, 12, 2);
  place.style.maxWidth = `min(52rem, ${8 + 2.4 * number}rem)`;
}
if (contents.interactions !== null && document.getElementById('interactions-chart') !== null) {
  const number = contents.interactions.names.length;
  const place = fitRows('interactions-chart', losingFeatures().length, 13, 2.4);
  place.style.maxWidth = `min(52rem, ${12 + 3.4 * number}rem)`;
}
if (contents.finding !== null) drawChart('finding-chart', findingOption);
contents.pair_pictures.forEach((each, place) => {
  drawChart(`pair-${place}`, () => (each.counts.length > 0 ? pairTableOption(each) : pairPointsOption(each)));
});
if (contents.sample_map !== null) {
  document.getElementById('map-chart').style.height = `${8 + 1.15 * contents.sample_map.features.length}rem`;
  drawChart('map-chart', mapOption);
}
drawChart('convergence-chart', convergenceOption);
drawChart('stability-chart', stabilityOption);
drawChart('intervals-chart', intervalsOption);
drawChart('frequency-chart', frequencyOption);
drawChart('samples-chart', samplesOption);
contents.distributions.forEach((each, place) => {
  // All of these are small; what is narrow is the window.
  const option = each.levels.length > 0 ? levelsOption : distributionOption;
  drawChart(`distribution-${place}`, () => option(each, innerWidth < narrowWidth));
});
drawChart('correlations-chart', correlationsOption);
drawChart('interactions-chart', interactionsOption);
