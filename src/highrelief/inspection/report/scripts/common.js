'use strict';
// What every page has: its data, numbers and names as they are written, its colors, its buttons.

const contents = JSON.parse(document.getElementById('contents').textContent);

// ---- numbers and names ----

const wholeNumbers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const fourFigures = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 });

/** A whole number with thousands set apart. */
function count(value) {
  return wholeNumbers.format(value).replace('-', '−');
}

/** A number in four figures; a dash where there is none. */
function figure(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size >= 1e4 && size < 1e15) return count(value);
  const plain = size === 0 || (size >= 1e-4 && size < 1e4);
  const text = plain ? fourFigures.format(value) : Number(value.toPrecision(4)).toExponential();
  return text.replaceAll('-', '−');
}

/** A range of ranks; quantiles of few ranks lie between them. */
function rankRange(low, high) {
  return low === null || high === null ? '–' : `${count(low)}–${count(high)}`;
}

/** A share as per cent. */
function percent(value) {
  return value === null || value === undefined ? '–' : `${Math.round(100 * value)}\u00a0%`;
}

// Line breaks, and signs that turn the direction of what follows.
const unseen = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g;

/** A name, or words for none. */
function label(name) {
  return name.trim() === '' ? '(no name)' : name;
}

/** A name on a chart: on one line, not too long, and never read as ECharts' `{style|text}`. */
function shortly(name, length = 60) {
  const letters = Array.from(label(name.slice(0, 4 * length).replace(unseen, ' ')));
  const clipped = letters.length > length ? `${letters.slice(0, length - 1).join('')}…` : letters.join('');
  const inert = clipped.replaceAll('{', '{\u200b');
  // ECharts keeps the widths of texts in a plain object, which has entries of its own by names such as `__proto__`.
  return inert in Object.prototype ? `${inert}\u200b` : inert;
}

/** A class; a number alone would not be known for one. */
function className(place, length) {
  const name = contents.classes[place];
  return `${/^[-+.\d]+$/.test(name) ? 'class ' : ''}${shortly(name, length)}`;
}

// ---- colors ----

const darkStyle = document.getElementById('dark');
const darkPreferred = matchMedia('(prefers-color-scheme: dark)');
const themeButton = document.getElementById('theme');
const whenColorsChange = [];

/** A color of the page by its name in the style. */
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function classColor(place) {
  return color(`class-${place % 8}`);
}

/** Classes differ by more than color. */
function classSymbol(place) {
  const symbols = ['circle', 'triangle', 'rect', 'diamond', 'roundRect', 'arrow', 'pin', 'circle'];
  return symbols[place % symbols.length];
}

function useDark(dark) {
  darkStyle.media = dark ? 'screen' : 'not all';
  themeButton.setAttribute('aria-pressed', String(dark));
  whenColorsChange.forEach((redraw) => redraw());
}

// ---- files and the clipboard ----

/** Hand the reader a file; the address is made here and leads nowhere else. */
function offerFile(name, address) {
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

function offerText(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  offerFile(name, address);
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// Where a spreadsheet takes a text for a formula (table/formulas.py), and what is a number all the same.
const formulaStart = /(^|[,;\t\r\n])('*[=+\-@\uff1d\uff0b\uff0d\uff20][^,;\t\r\n]*)/g;
const plainNumber = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/** A value as CSV writes it; words are made inert, as in the files that the command writes. */
function csvField(value) {
  if (typeof value !== 'string') return value === null ? '' : String(value);
  if (value === '+' || value === '-') return value;
  const text = value
    .replace(formulaStart, (whole, before, start) => (plainNumber.test(start) ? whole : `${before}'${start}`))
    .replace(/^'*(?=[\t\r\n])/, "'$&");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvText(rows) {
  return rows.map((row) => `${row.map(csvField).join(',')}\n`).join('');
}

/** Copy words, by way of an element that can be selected. */
async function copyWords(words) {
  const holder = document.createElement('pre');
  holder.className = 'unseen';
  holder.textContent = words;
  document.body.append(holder);
  const copied = await copyText(holder);
  holder.remove();
  return copied;
}

/** Copy an element's text; older browsers, and some for files or frames, copy only what is selected, or nothing. */
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}

const said = document.getElementById('said');

/** Say on a button, and to screen readers, what it has done. */
function sayFor(button, words) {
  button.dataset.words ??= button.textContent;
  button.textContent = words;
  said.textContent = words;
  setTimeout(() => {
    button.textContent = button.dataset.words;
    said.textContent = '';
  }, 2000);
}

/** In a notebook's frame an address within the page is taken for one of the notebook: go there by hand. */
function followInside(event) {
  const link = event.target.closest('a[href^="#"]');
  const target = link && document.getElementById(link.getAttribute('href').slice(1));
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView();
  target.focus({ preventScroll: true });
}

// ---- the current section, in the list of contents ----

const sectionLinks = [...document.querySelectorAll('nav.contents a')];
const sectionPlaces = sectionLinks.map((link) => document.getElementById(link.getAttribute('href').slice(1)));

function markSection() {
  const line = innerHeight / 3;
  const atEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  const passed = sectionPlaces.filter((place) => place !== null && place.getBoundingClientRect().top <= line).length;
  const current = atEnd ? sectionLinks.length - 1 : Math.max(passed - 1, 0);
  sectionLinks.forEach((link, place) => {
    if (place === current) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  });
}

// ---- start ----

addEventListener('scroll', markSection, { passive: true });
addEventListener('resize', markSection);
markSection();

document.documentElement.classList.add('live');
useDark(darkPreferred.matches);
darkPreferred.addEventListener('change', () => useDark(darkPreferred.matches));
themeButton.addEventListener('click', () => useDark(themeButton.getAttribute('aria-pressed') !== 'true'));
if (location.protocol === 'about:') document.addEventListener('click', followInside);
for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', async () => {
    const copied = await copyText(document.getElementById(button.dataset.copy));
    sayFor(button, copied ? 'Copied' : 'Selected');
  });
}
