// Bus bandwidth by size: predicted, with its band, and beside it the points of a log.

import {cardElement} from './card.js';
import {html, svg} from './dom.js';
import {axes, chart, label, path, picture} from './plot.js';
import {linear, logarithmic} from './scale.js';
import {counted, digits, fixed} from './units.js';

/**
 * @typedef {import('./documents.js').AllReduce} AllReduce
 * @typedef {import('./documents.js').Documents} Documents
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

/** @param {AllReduce} table @param {Documents['measured_all_reduces']} measured */
export function allReduceCard(table, measured) {
  const rows = table.rows.filter((row) => row.size_bytes > 0 && row.time_us > 0);
  // What turns a time into bus bandwidth is the same factor at every size.
  const factor = rows.length
    ? (rows[rows.length - 1].busbw_gbps * rows[rows.length - 1].time_us) / rows[rows.length - 1].size_bytes
    : 0;
  const busbw = (/** @type {number} */ size, /** @type {number} */ us) => (factor * size) / us;
  const points =
    (measured?.rows ?? [])
      .filter(
        (row) => row.size_bytes > 0 && row.time_us > 0 && rows.length > 0 && row.size_bytes >= rows[0].size_bytes &&
          row.size_bytes <= rows[rows.length - 1].size_bytes)
      .map((row) => ({size: row.size_bytes, value: busbw(row.size_bytes, row.time_us)}));
  const most =
    Math.max(1e-9, ...rows.map((row) => busbw(row.size_bytes, row.low_us)), ...points.map((point) => point.value));

  const draw = (/** @type {number} */ width) => {
    const height = 356;
    const box = {left: 46, right: width - 12, top: 46, bottom: height - 42};
    const x = logarithmic([rows[0].size_bytes, rows[rows.length - 1].size_bytes], [box.left, box.right]);
    const y = linear([0, most * 1.04], [box.bottom, box.top], 5);
    const into = picture(width, height);
    const step = y.ticks[1] - y.ticks[0];
    axes(into, box, x, y, {
      x: sizeTick,
      y: (value) => fixed(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))),
      xTitle: 'size, bytes (binary prefixes)',
      yTitle: 'busbw, GB/s'
    });
    const at = (/** @type {number} */ size, /** @type {number} */ value) =>
      `${x.place(size).toFixed(1)} ${y.place(value).toFixed(1)}`;
    const upper = rows.map((row) => at(row.size_bytes, busbw(row.size_bytes, row.low_us)));
    const lower = rows.map((row) => at(row.size_bytes, busbw(row.size_bytes, row.high_us))).reverse();
    into.append(
      path('band', `M${[...upper, ...lower].join('L')}Z`),
      path('curve', `M${rows.map((row) => at(row.size_bytes, row.busbw_gbps)).join('L')}`));
    // Where NCCL chooses otherwise.
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
    for (const point of points)
      into.append(svg('circle', {class: 'measured', cx: x.place(point.size), cy: y.place(point.value), r: 4}));
    return into;
  };
  const of = (/** @type {number} */ size) => measured?.rows.find((row) => row.size_bytes === size)?.time_us ?? null;
  const legend = html(
    'ul', {class: 'legend', 'aria-label': 'Legend'}, html('li', {}, html('i', {class: 'swatch curve'}), 'predicted'),
    html('li', {}, html('i', {class: 'swatch band'}), '80 % interval'),
    points.length > 0 &&
      html('li', {}, html('i', {class: 'swatch measured'}), `measured (${counted(points.length, 'size')})`));
  const us = (/** @type {any} */ value) => digits(Number(value), 4);
  const drawn = rows.length > 1 && factor > 0;
  /** @type {import('./table.js').Column[]} */
  const beside = [
    {title: 'measured', unit: 'us', show: us},
    {title: 'error', unit: '%', show: (value) => digits(Number(value), 2)},
  ];
  return cardElement({
    title: `Bus bandwidth of ${table.collective ?? 'all-reduce'} by size`,
    about: 'As all_reduce_perf counts it, out of place; above the curve, what NCCL chooses.',
    body: drawn ? [legend, chart(draw, `Bus bandwidth by size, up to ${digits(most)} GB/s`)] : [],
    table: {
      file: 'allreduce',
      columns: [
        {title: 'size', unit: 'B'},
        {title: 'time', unit: 'us', show: us},
        {title: 'low', unit: 'us', show: us},
        {title: 'high', unit: 'us', show: us},
        ...(measured ? beside : []),
        {title: 'algbw', unit: 'GB/s', show: us},
        {title: 'busbw', unit: 'GB/s', show: us},
        {title: 'NCCL', text: true},
        {title: 'NCCL’s estimate', unit: 'us', show: us},
      ],
      rows: table.rows.map((row) => {
        const seen = of(row.size_bytes);
        const error = seen === null ? null : 100 * (row.time_us / seen - 1);
        return [
          row.size_bytes, row.time_us, row.low_us, row.high_us, ...(measured ? [seen, error] : []), row.algbw_gbps,
          row.busbw_gbps, `${row.algorithm} ${row.protocol} ×${row.channels}`, row.nccl_estimate_us
        ];
      }),
    },
  });
}
