// Levers of DDP and NCCL: what each is expected to gain, what it takes.

import {barChart} from './bars.js';
import {cardElement, copyButton} from './card.js';
import {html} from './dom.js';
import {name} from './names.js';
import {bytes, decimals, fixed, milliseconds, signed, time, timeUnit} from './units.js';

/**
 * @typedef {import('./documents.js').Advice} Advice
 * @typedef {import('./documents.js').AdviceRow} AdviceRow
 */

/** @param {AdviceRow} row */
function takes(row) {
  return [
    row.changes_batch && 'another batch', row.changes_numerics && 'other numerics',
    row.memory_bytes && `${signed(row.memory_bytes, bytes)} memory`
  ].filter(Boolean)
    .join(', ');
}

/**
 * Names of levers are long.
 * @param {HTMLElement} chart
 */
function wide(chart) {
  chart.classList.add('wide');
  return chart;
}

/** @param {Advice} advice */
export function adviceCard(advice) {
  const rows = advice.rows.filter((row) => !row.error);
  const failed = advice.rows.filter((row) => row.error);
  const edges = rows.flatMap((row) => [row.gain_us.low, row.gain_us.high, row.gain_us.value, 0]);
  const widest = Math.max(...edges.map(Math.abs), advice.measurable_us);
  const unit = timeUnit(widest);
  const places = decimals(widest / unit.us, 3);
  const shown = (/** @type {number} */ us) => signed(us, (value) => fixed(value / unit.us, places));
  const worth = rows.filter((row) => row.worth);
  /** @type {HTMLElement[]} */
  const body = [
    wide(barChart({
      domain: [Math.min(...edges) - widest * 0.02, Math.max(...edges, advice.measurable_us) + widest * 0.02],
      zero: 0,
      label: `Gain of ${rows.length} levers and combinations, ${worth.length} of which are worth it`,
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
    })),
  ];
  if (worth.length)
    body.push(html(
      'details', {open: worth.length < 4}, html('summary', {}, `What to write: ${worth.length} worth it`),
      html(
        'ul', {class: 'lines'},
        ...worth.map(
          (row) => html(
            'li', {}, html('b', {}, name(row.levers.join(' + '))),
            html(
              'div', {class: 'code'}, html('code', {}, name(row.line, 2000)),
              ...copyButton('Copy', () => row.line, `Copy what sets ${row.levers.join(' + ')}`)),
            row.note && html('small', {}, name(row.note, 600)))))));
  if (failed.length)
    body.push(html(
      'details', {}, html('summary', {}, `${failed.length} cannot be had`),
      html(
        'ul', {},
        ...failed.map(
          (row) => html('li', {}, html('b', {}, name(row.levers.join(' + '))), ': ', name(row.error, 400))))));
  return cardElement({
    title: 'Levers, by what they are expected to gain',
    about: `Gain over today's step of ${time(advice.iteration_us, 4)}; whiskers are 80 % intervals. ` +
      'Green is worth it: it gains more than the ' +
      `${time(advice.measurable_us, 2)} that can be measured, and risks little.`,
    body,
    table: {
      file: 'levers',
      columns: [
        {title: 'levers', text: true, long: true},
        {title: 'gain', unit: 'ms', show: milliseconds.show},
        {title: 'low', unit: 'ms', show: milliseconds.show},
        {title: 'high', unit: 'ms', show: milliseconds.show},
        {title: 'expected', unit: 'ms', show: milliseconds.show},
        {title: 'takes', text: true, long: true},
        {title: 'worth it', text: true},
        {title: 'to write', text: true, long: true},
      ],
      rows: rows.map(
        (row) =>
          [row.levers.join(' + '), milliseconds.of(row.gain_us.value), milliseconds.of(row.gain_us.low),
           milliseconds.of(row.gain_us.high), milliseconds.of(row.expected_gain_us), takes(row),
           row.worth ? 'yes' : 'no', row.line]),
    },
  });
}
