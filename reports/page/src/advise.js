// Settings of DDP and NCCL: what each is expected to gain, and its side effects.

import {barChart} from './bars.js';
import {cardElement, copyButton} from './card.js';
import {html} from './dom.js';
import {having} from './having.js';
import {name} from './names.js';
import {bytes, counted, decimals, fixed, milliseconds, signed, time, timeUnit} from './units.js';

/**
 * @typedef {import('documents').AdviseResult} AdviseResult
 * @typedef {import('documents').AdviceRow} AdviceRow
 * @typedef {ReturnType<typeof weighed>[number]} WeighedRow
 */

/** @param {AdviseResult} advice */
function weighed(advice) {
  return having(advice.rows, 'gain_us', 'expected_gain_us');
}

/** @param {AdviceRow} row */
function takes(row) {
  return [
    row.changes_batch && 'changes the batch', row.changes_numerics && 'changes numerics',
    row.memory_bytes && `${signed(row.memory_bytes, bytes)} memory`
  ].filter(Boolean)
    .join(', ');
}

/** @param {AdviseResult} advice @param {WeighedRow[]} rows */
function gainChart(advice, rows) {
  const edges = rows.flatMap((row) => [row.gain_us.low, row.gain_us.high, row.gain_us.value, 0]);
  const widest = Math.max(...edges.map(Math.abs), advice.measurable_us);
  const unit = timeUnit(widest);
  const places = decimals(widest / unit.us, 3);
  const shown = (/** @type {number} */ us) => signed(us, (value) => fixed(value / unit.us, places));
  const worth = rows.filter((row) => row.worth).length;
  const chart = barChart({
    domain: [Math.min(...edges) - widest * 0.02, Math.max(...edges, advice.measurable_us) + widest * 0.02],
    zero: 0,
    label: `Gain of ${rows.length} settings and combinations, ${worth} of them worth it`,
    bars: rows.map(
      (row) => ({
        label: row.levers.join(' + '),
        note: takes(row),
        from: 0,
        to: row.gain_us.value,
        low: row.gain_us.low,
        high: row.gain_us.high,
        tone: row.worth ? 'good' : 'dull',
        text: `${shown(row.gain_us.value)} ${unit.name}`,
        strong: row.worth
      })),
  });
  chart.classList.add('wide'); // long names
  return chart;
}

/** @param {AdviceRow[]} rows settings that are worth it */
function linesToWrite(rows) {
  const lines = rows.map((row) => {
    const names = row.levers.join(' + ');
    const copy = copyButton('Copy', () => row.line, `Copy the line that sets ${names}`);
    const code = html('div', {class: 'code'}, html('code', {}, name(row.line, 2000)), ...copy);
    return html('li', {}, html('b', {}, name(names)), code, row.note && html('small', {}, name(row.note, 600)));
  });
  const summary = html('summary', {}, `Lines to write: ${counted(rows.length, 'setting')} worth it`);
  return html('details', {open: rows.length < 4}, summary, html('ul', {class: 'lines'}, ...lines));
}

/** @param {AdviceRow[]} rows */
function refusals(rows) {
  const items =
    rows.map((row) => html('li', {}, html('b', {}, name(row.levers.join(' + '))), ': ', name(row.error, 400)));
  return html('details', {}, html('summary', {}, `${rows.length} not possible here`), html('ul', {}, ...items));
}

/** @param {WeighedRow[]} rows @returns {import('./table.js').Table} */
function settingTable(rows) {
  const {of, show} = milliseconds;
  return {
    file: 'settings',
    columns: [
      {title: 'settings', text: true, long: true},
      {title: 'gain', unit: 'ms', show},
      {title: 'low', unit: 'ms', show},
      {title: 'high', unit: 'ms', show},
      {title: 'expected', unit: 'ms', show},
      {title: 'side effects', text: true, long: true},
      {title: 'worth it', text: true},
      {title: 'line to write', text: true, long: true},
    ],
    rows: rows.map(
      (row) =>
        [row.levers.join(' + '), of(row.gain_us.value), of(row.gain_us.low), of(row.gain_us.high),
         of(row.expected_gain_us), takes(row), row.worth ? 'yes' : 'no', row.line]),
  };
}

/** @param {AdviseResult} advice */
export function adviceCard(advice) {
  const rows = weighed(advice);
  const failed = advice.rows.filter((row) => row.error);
  const worth = rows.filter((row) => row.worth);
  /** @type {HTMLElement[]} */
  const body = [gainChart(advice, rows)];
  if (worth.length) body.push(linesToWrite(worth));
  if (failed.length) body.push(refusals(failed));
  return cardElement({
    title: 'Settings, by expected gain',
    about: `Gain over the current step of ${time(advice.iteration_us, 4)}. Whiskers: 80 % intervals. ` +
      `Green: worth it, because it gains more than the ${time(advice.measurable_us, 2)} you could measure ` +
      'and risks little.',
    body,
    table: settingTable(rows),
  });
}
