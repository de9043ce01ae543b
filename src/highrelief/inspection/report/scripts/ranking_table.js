'use strict';
// All features as a table: Tabulator draws only the rows in sight. Cells are made of text, never of HTML.

const features = contents.features;
const numberOfFeatures = features.names.length;
const resampled = features.rank_low !== null && features.rank_high !== null;
const largestWeight = features.weights.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
// The feature that the reader picked; rows are drawn before the charts' script is read.
let markedPlace = null;
const alphabet = new Intl.Collator('en', { numeric: true });

/** One row for each feature. */
function featureRow(name, place) {
  return {
    place,
    name,
    sought: name.toLowerCase(),
    rank: features.ranks[place],
    weight: features.weights[place],
    kept: features.kept[place],
    alone: features.univariate_ranks[place],
    missing: features.missing === null ? null : features.missing[place],
    low: resampled ? features.rank_low[place] : null,
    high: resampled ? features.rank_high[place] : null,
    frequency: features.frequency === null ? null : features.frequency[place],
  };
}

function textNode(words) {
  return document.createTextNode(words);
}

function element(kind, className, words = '') {
  const made = document.createElement(kind);
  made.className = className;
  made.textContent = words;
  return made;
}

function nameCell(cell) {
  const name = cell.getValue();
  cell.getElement().title = name;
  return name.trim() === '' ? element('span', 'none', label(name)) : textNode(name);
}

/** A weight in figures and as a bar; hollow below zero. */
function weightCell(cell) {
  const { weight, kept } = cell.getData();
  const bar = element('span', `bar${kept ? ' kept' : ''}${weight < 0 ? ' below' : ''}`);
  bar.style.width = `${largestWeight > 0 ? (100 * Math.abs(weight)) / largestWeight : 0}%`;
  const track = element('span', 'track');
  track.append(bar);
  const whole = element('span', 'weight-cell');
  whole.append(element('span', 'figures', figure(weight)), track);
  return whole;
}

function intervalCell(cell) {
  const { low, high } = cell.getData();
  return textNode(rankRange(low, high));
}

/** A heading that the keyboard reaches: its click goes on to the column, which sorts. */
function heading(cell, { words, meaning }) {
  const button = element('button', '', words);
  button.type = 'button';
  button.title = meaning;
  return button;
}

function column(field, words, meaning, own) {
  const titled = { title: words, titleFormatter: heading, titleFormatterParams: { words, meaning } };
  return { field, sorter: 'number', ...titled, ...own };
}

const written = (write) => (cell) => textNode(write(cell.getValue()));
const shareMissing = (share) => (share > 0 && share < 0.005 ? '<1\u00a0%' : percent(share));
const yesOrNo = (answer) => (answer ? 'yes' : 'no');
const byName = (a, b) => alphabet.compare(a, b);
const byInterval = (a, b, one, other) => a - b || one.getData().high - other.getData().high;

// On a phone there is no room for the bars of the weights; the style leaves them out at the same width.
const phone = matchMedia('(max-width: 40rem)');

function columns() {
  const weightRoom = phone.matches ? { width: 84 } : { minWidth: 150, widthGrow: 3 };
  const [rankRoom, nameRoom, keptRoom] = phone.matches ? [58, 90, 62] : [74, 130, 74];
  const all = [
    column('rank', 'Rank', 'The largest weight is first', { width: rankRoom, formatter: written(count) }),
    column('name', 'Feature', 'Name of the feature', {
      minWidth: nameRoom, widthGrow: 3, cssClass: 'name', formatter: nameCell, sorter: byName,
    }),
    column('weight', 'Weight', 'How much the feature counts', {
      ...weightRoom, formatter: weightCell, headerSortStartingDir: 'desc',
    }),
    column('kept', 'Kept', 'Whether the method selects it', {
      width: keptRoom, sorter: 'boolean', formatter: written(yesOrNo), headerSortStartingDir: 'desc',
    }),
    column('alone', 'Rank alone', `Rank by ${features.univariate_score}, which looks at each feature by itself`, {
      width: 90, formatter: written(count),
    }),
  ];
  // A phone has room for four columns; the file has all.
  if (phone.matches) return all.slice(0, 4);
  if (features.missing !== null) {
    all.push(column('missing', 'Missing', 'Share of the values that is missing', {
      width: 104, formatter: written(shareMissing), headerSortStartingDir: 'desc',
    }));
  }
  if (resampled) {
    all.push(column('low', 'Rank in halves', 'Where the rank lies in nine of ten halves of the samples', {
      width: 106, sorter: byInterval, formatter: intervalCell,
    }));
  }
  if (features.frequency !== null) {
    all.push(column('frequency', 'Among the best', 'Share of the halves of the samples in which it is among the best', {
      width: 104, formatter: written(percent), headerSortStartingDir: 'desc',
    }));
  }
  return all;
}

const rankingPlace = document.getElementById('ranking-table');
rankingPlace.setAttribute('aria-label', 'All features');
const nothingFound = element('div', 'tabulator-placeholder-contents', 'No feature matches.');
const rankingTable = new Tabulator(rankingPlace, {
  data: features.names.map(featureRow),
  index: 'place',
  columns: columns(),
  columnDefaults: { resizable: false, headerWordWrap: true },
  layout: 'fitColumns',
  maxHeight: 540,
  rowHeight: 36,
  initialSort: [{ column: 'rank', dir: 'asc' }],
  placeholder: nothingFound,
  rowFormatter: (row) => row.getElement().classList.toggle('marked', row.getData().place === markedPlace),
});

// ---- search ----

const searchBox = document.getElementById('search');
const shownCount = document.getElementById('shown');

function search() {
  const sought = searchBox.value.trim().toLowerCase();
  if (sought === '') rankingTable.clearFilter();
  else rankingTable.setFilter((row) => row.sought.includes(sought));
}

rankingTable.on('dataFiltered', (filters, rows) => {
  shownCount.textContent = `${count(rows.length)} of ${count(numberOfFeatures)}`;
});

// Spoken when the reader pauses, not with every letter.
const pause = 800;
let speaking = 0;

function speakCount() {
  clearTimeout(speaking);
  speaking = setTimeout(() => { said.textContent = `${shownCount.textContent} features`; }, pause);
}

rankingTable.on('tableBuilt', () => {
  // What scrolls stands between the grid and its rows; to screen readers it is their group.
  rankingPlace.querySelector('.tabulator-tableholder').setAttribute('role', 'rowgroup');
  rankingPlace.querySelector('.tabulator-table').setAttribute('role', 'presentation');
  searchBox.addEventListener('input', search);
  searchBox.addEventListener('input', speakCount);
  searchBox.addEventListener('keydown', (event) => {
    const [first] = event.key === 'Enter' ? rankingTable.getRows('active') : [];
    if (first !== undefined) markFeature(first.getData().place);
  });
});
phone.addEventListener('change', () => {
  const sorted = rankingTable.getSorters().map(({ field, dir }) => ({ column: field, dir }));
  rankingTable.setColumns(columns());
  rankingTable.setSort(sorted);
});
rankingTable.on('rowClick', (event, row) => markFeature(row.getData().place));

// ---- the shown rows as a file ----

function shownRows() {
  const rows = rankingTable.getData('active').map((row) => {
    const fields = [row.rank, row.name, row.weight, yesOrNo(row.kept), row.alone];
    if (features.missing !== null) fields.push(row.missing);
    if (resampled) fields.push(row.low, row.high);
    if (features.frequency !== null) fields.push(row.frequency);
    return fields;
  });
  const titles = ['rank', 'feature', 'weight', 'kept', 'rank_alone'];
  if (features.missing !== null) titles.push('missing');
  if (resampled) titles.push('rank_low', 'rank_high');
  if (features.frequency !== null) titles.push('frequency');
  return [titles, ...rows];
}

document.getElementById('csv').addEventListener('click', () => {
  offerText('ranking.csv', csvText(shownRows()), 'text/csv');
});

// ---- the features to keep, for other programs such as tools for enrichment ----

const topPlaces = features.names.map((_, place) => place).filter((place) => features.kept[place]);
if (topPlaces.length === 0) topPlaces.push(...features.names.slice(0, 20).keys());

document.getElementById('copy-top').addEventListener('click', async (event) => {
  const button = event.currentTarget;
  const copied = await copyWords(topPlaces.map((place) => features.names[place]).join('\n'));
  sayFor(button, copied ? 'Copied' : 'Cannot copy here');
});
document.getElementById('csv-top').addEventListener('click', () => {
  const rows = topPlaces.map((place) => [features.ranks[place], features.names[place], features.weights[place]]);
  offerText('top-features.csv', csvText([['rank', 'feature', 'weight'], ...rows]), 'text/csv');
});
