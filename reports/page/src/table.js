// The table behind each chart: shown, copied as Markdown, saved as CSV.

import {html} from './dom.js';
import {name, visible} from './names.js';

/**
 * @typedef {string | number | null} Value null: there is none
 * @typedef {object} Column
 * @property {string} title
 * @property {string} [unit]
 * @property {boolean} [text] text, aligned left
 * @property {boolean} [long] may need several lines
 * @property {(value: Value, row: Value[]) => string} [show] as shown; CSV has the value itself
 *
 * @typedef {object} Table
 * @property {string} file what its CSV is called, without ending
 * @property {Column[]} columns
 * @property {Value[][]} rows
 */

/** @param {Column} column */
function classOf(column) {
  return column.long ? 'text long' : column.text && 'text';
}

/** @param {Column} column */
function heading(column) {
  return column.unit ? `${column.title}, ${column.unit}` : column.title;
}

/** @param {Column} column @param {Value} value @param {Value[]} row */
function shown(column, value, row) {
  if (value === null || value === undefined) return '';
  return column.show ? column.show(value, row) : String(value);
}

// Rows shown. More would stop a browser.
const kMost = 2000;

/**
 * @param {Table} table
 * @param {string} caption for screen readers
 * @param {(row: HTMLTableRowElement, index: number) => void} [each] adds to a row
 */
export function tableElement(table, caption, each) {
  const head = html('tr');
  for (const column of table.columns)
    head.append(html(
      'th', {scope: 'col', class: classOf(column)}, column.title,
      column.unit && html('span', {class: 'unit'}, ` ${column.unit}`)));
  const body = html('tbody');
  table.rows.slice(0, kMost).forEach((row, index) => {
    const line = html('tr');
    table.columns.forEach((column, k) => {
      const text = shown(column, row[k], row);
      line.append(
        html(k ? 'td' : 'th', {scope: k ? null : 'row', class: classOf(column)}, column.text ? name(text, 400) : text));
    });
    each?.(line, index);
    body.append(line);
  });
  if (table.rows.length > kMost)
    body.append(html(
      'tr', {},
      html(
        'td', {class: 'text', colspan: table.columns.length},
        `… ${table.rows.length - kMost} more rows: CSV has all of them`)));
  const scroll = html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption});
  scroll.append(html('table', {}, html('caption', {class: 'unseen'}, caption), html('thead', {}, head), body));
  return scroll;
}

/** @param {Table} table */
export function markdown(table) {
  const cell = (/** @type {string} */ text) => visible(text, 400).replace(/[\\|`*_<>[\]]/g, '\\$&');
  const line = (/** @type {string[]} */ cells) => `| ${cells.join(' | ')} |\n`;
  return (
    line(table.columns.map((column) => cell(heading(column)))) +
    line(table.columns.map((column) => (column.text ? '---' : '--:'))) +
    table.rows.map((row) => line(table.columns.map((column, k) => cell(shown(column, row[k], row))))).join(''));
}

/**
 * Unrounded values; units are in the headings.
 * @param {Table} table
 */
export function csv(table) {
  const cell = (/** @type {Value} */ value) => {
    let text = value === null || value === undefined ? '' : String(value);
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) text = `'${text}`; // a spreadsheet would run it
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const line = (/** @type {Value[]} */ cells) => `${cells.map(cell).join(',')}\n`;
  return line(table.columns.map((column) => column.title + (column.unit ? ` (${column.unit})` : ''))) +
    table.rows.map(line).join('');
}
