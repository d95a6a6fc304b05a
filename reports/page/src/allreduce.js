// Bus bandwidth by size: predicted, with its 80 % interval, and the measured points of a log.

import {cardElement} from './card.js';
import {svg} from './dom.js';
import {legendList} from './legend.js';
import {axes, chart, label, path, picture} from './plot.js';
import {linear, logarithmic, placesOf} from './scale.js';
import {counted, digits, fixed} from './units.js';

/**
 * @typedef {import('documents').AllreduceResult} AllreduceResult
 * @typedef {import('./envelope.js').Documents} Documents
 */

/**
 * Short, and exact where it is a power of two.
 * @param {number} count
 */
export function sizeTick(count) {
  for (const [unit, name] of /** @type {[number, string][]} */ ([
         [2 ** 30, 'G'],
         [2 ** 20, 'M'],
         [2 ** 10, 'K'],
       ]))
    if (count >= unit) return `${Number((count / unit).toPrecision(3))}${name}`;
  return String(count);
}

/**
 * What is drawn: rows of the prediction, points of a log, and the function from time to bus bandwidth.
 * @typedef {object} Sweep
 * @property {AllreduceResult['rows']} rows
 * @property {{size: number, value: number}[]} points within the sizes of `rows`
 * @property {(size: number, us: number) => number} busbw
 * @property {number} most
 * @property {boolean} drawn whether there is enough to draw
 */

/**
 * @param {AllreduceResult} table
 * @param {Documents['measured_all_reduces']} measured
 * @returns {Sweep}
 */
function sweepOf(table, measured) {
  const rows = table.rows.filter((row) => row.size_bytes > 0 && row.time_us > 0);
  const last = rows[rows.length - 1];
  // What turns a time into bus bandwidth is the same factor at every size.
  const factor = last ? (last.busbw_gbps * last.time_us) / last.size_bytes : 0;
  const busbw = (/** @type {number} */ size, /** @type {number} */ us) => (factor * size) / us;
  const points =
    (measured?.rows ?? [])
      .filter((row) => row.size_bytes > 0 && row.time_us > 0 && last)
      .filter((row) => row.size_bytes >= rows[0].size_bytes && row.size_bytes <= last.size_bytes)
      .map((row) => ({size: row.size_bytes, value: busbw(row.size_bytes, row.time_us)}));
  const values = [...rows.map((row) => busbw(row.size_bytes, row.low_us)), ...points.map((point) => point.value)];
  return {rows, points, busbw, most: Math.max(1e-9, ...values), drawn: rows.length > 1 && factor > 0};
}

/** @param {Sweep} sweep @param {number} width */
function plotSweep({rows, points, busbw, most}, width) {
  const height = 356;
  const box = {left: 46, right: width - 12, top: 46, bottom: height - 42};
  const x = logarithmic([rows[0].size_bytes, rows[rows.length - 1].size_bytes], [box.left, box.right]);
  const y = linear([0, most * 1.04], [box.bottom, box.top], 5);
  const into = picture(width, height);
  const places = placesOf(y.ticks[1] - y.ticks[0]);
  const words = {x: sizeTick, y: (/** @type {number} */ value) => fixed(value, places)};
  axes(into, box, x, y, {...words, xTitle: 'size, bytes (binary prefixes)', yTitle: 'busbw, GB/s'});
  const at = (/** @type {number} */ size, /** @type {number} */ value) =>
    `${x.place(size).toFixed(1)} ${y.place(value).toFixed(1)}`;
  const upper = rows.map((row) => at(row.size_bytes, busbw(row.size_bytes, row.low_us)));
  const lower = rows.map((row) => at(row.size_bytes, busbw(row.size_bytes, row.high_us))).reverse();
  into.append(
    path('band', `M${[...upper, ...lower].join('L')}Z`),
    path('curve', `M${rows.map((row) => at(row.size_bytes, row.busbw_gbps)).join('L')}`));
  drawChoices(into, rows, x, box);
  for (const point of points)
    into.append(svg('circle', {class: 'measured', cx: x.place(point.size), cy: y.place(point.value), r: 4}));
  return into;
}

/**
 * Writes each algorithm and protocol above the curve, at the first size for which NCCL chooses it.
 * @param {SVGSVGElement} into
 * @param {AllreduceResult['rows']} rows
 * @param {import('./scale.js').Scale} x
 * @param {import('./plot.js').Box} box
 */
function drawChoices(into, rows, x, box) {
  let before = '';
  let free = -Infinity;
  for (const row of rows) {
    const choice = `${row.algorithm} ${row.protocol}`;
    if (choice === before) continue;
    const place = x.place(row.size_bytes);
    if (before) into.append(svg('line', {class: 'change', x1: place, x2: place, y1: box.top - 4, y2: box.bottom}));
    if (place > free && place < box.right - 40) {
      into.append(label(choice, place + 3, box.top - 8, {kind: 'small'}));
      free = place + choice.length * 6.2 + 12;
    }
    before = choice;
  }
}

/**
 * @param {AllreduceResult} table
 * @param {Documents['measured_all_reduces']} measured
 * @returns {import('./table.js').Table}
 */
function sweepTable(table, measured) {
  const show = (/** @type {any} */ value) => digits(Number(value), 4);
  /** @type {import('./table.js').Column[]} */
  const beside = [
    {title: 'measured', unit: 'us', show},
    {title: 'error', unit: '%', show: (value) => digits(Number(value), 2)},
  ];
  return {
    file: 'allreduce',
    columns: [
      {title: 'size', unit: 'B'},
      {title: 'time', unit: 'us', show},
      {title: 'low', unit: 'us', show},
      {title: 'high', unit: 'us', show},
      ...(measured ? beside : []),
      {title: 'algbw', unit: 'GB/s', show},
      {title: 'busbw', unit: 'GB/s', show},
      {title: 'NCCL', text: true},
      {title: 'NCCL’s estimate', unit: 'us', show},
    ],
    rows: table.rows.map((row) => {
      const seen = measured?.rows.find((other) => other.size_bytes === row.size_bytes)?.time_us ?? null;
      const error = seen === null ? null : 100 * (row.time_us / seen - 1);
      return [
        row.size_bytes, row.time_us, row.low_us, row.high_us, ...(measured ? [seen, error] : []), row.algbw_gbps,
        row.busbw_gbps, `${row.algorithm} ${row.protocol} ×${row.channels}`, row.nccl_estimate_us
      ];
    }),
  };
}

/** @param {AllreduceResult} table @param {Documents['measured_all_reduces']} measured */
export function allReduceCard(table, measured) {
  const sweep = sweepOf(table, measured);
  /** @type {[string, string][]} */
  const entries = [['curve', 'predicted'], ['band', '80 % interval']];
  if (sweep.points.length) entries.push(['measured', `measured (${counted(sweep.points.length, 'size')})`]);
  const plot = () =>
    chart((width) => plotSweep(sweep, width), `Bus bandwidth by size, up to ${digits(sweep.most)} GB/s`);
  return cardElement({
    title: `Bus bandwidth of ${table.collective ?? 'all-reduce'} by size`,
    about:
      'Counted as all_reduce_perf does, out of place. Above the curve: the algorithm and protocol that NCCL chooses.',
    body: sweep.drawn ? [legendList(entries), plot()] : [],
    table: sweepTable(table, measured),
  });
}
