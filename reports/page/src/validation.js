// Prediction and measurement: the error of every value.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {html} from './dom.js';
import {name} from './names.js';
import {decimals, digits, fixed, signed} from './units.js';

/** @typedef {import('documents').ValidateResult} ValidateResult */

const kMost = 60; // bars

/** @param {boolean | undefined} within */
function inside(within) {
  if (within === undefined) return null;
  return within ? 'yes' : 'no';
}

/** @param {ValidateResult} validation */
export function validationCard(validation) {
  const {rows} = validation;
  const worst = Math.max(1, ...rows.map((row) => Math.abs(row.error_percent)));
  const places = Math.max(1, decimals(worst, 2));
  const shown = rows.length <= kMost
    ? rows
    : [...rows].sort((a, b) => Math.abs(b.error_percent) - Math.abs(a.error_percent)).slice(0, kMost);
  /** @type {HTMLElement[]} */
  const body = [
    barChart({
      domain: [-worst * 1.04, worst * 1.04],
      zero: 0,
      label: `Errors of ${rows.length} values, the worst ${digits(worst, 2)} percent`,
      bars: shown.map(
        (row) => ({
          label: row.name,
          note: row.within_interval === false ? 'outside its predicted interval' : '',
          from: Math.min(0, row.error_percent),
          to: Math.max(0, row.error_percent),
          tone: row.within_interval === false ? 'bad' : 'plain',
          text: `${signed(row.error_percent, (value) => fixed(value, places))} %`
        })),
    }),
  ];
  if (validation.notes.length)
    body.push(html('ul', {}, ...validation.notes.map((note) => html('li', {}, name(note, 600)))));
  return cardElement({
    title: 'Error of every value',
    about: 'Bars to the right: predicted too long.' +
      (shown.length < rows.length ? ` Shown: the ${kMost} largest of ${rows.length} errors; the table has all.` : ''),
    body,
    table: {
      file: 'errors',
      columns: [
        {title: 'quantity', text: true, long: true}, {title: 'predicted', show: (value) => digits(Number(value), 5)},
        {title: 'measured', show: (value) => digits(Number(value), 5)}, {title: 'unit', text: true},
        {title: 'error', unit: '%', show: (value) => fixed(Number(value), 2)},
        {title: 'inside its interval', text: true}
      ],
      rows: rows.map(
        (row) => [row.name, row.predicted, row.measured, row.unit, row.error_percent, inside(row.within_interval)]),
    },
  });
}
