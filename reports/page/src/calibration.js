// A calibration: the error of every size of every log, before and after; constants; what was left out.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {html, svg} from './dom.js';
import {markerLegend} from './legend.js';
import {name, visible} from './names.js';
import {sizeTick} from './allreduce.js';
import {axes, chart, marker, picture} from './plot.js';
import {linear, logarithmic, placesOf} from './scale.js';
import {digits, fixed, percent} from './units.js';

/**
 * @typedef {import('documents').CalibrateResult} CalibrateResult
 * @typedef {import('documents').Residual} Residual
 */

/** @param {Residual} row */
function shapeOf(row) {
  return `${visible(row.source, 40)} ${row.nodes}x${row.gpus_per_node}`;
}

/**
 * Error of a prediction in percent; above 0 it is too long.
 * @param {number} predicted
 * @param {number} measured
 */
function error(predicted, measured) {
  return 100 * (predicted / measured - 1);
}

/**
 * @typedef {{k: number, size: number, before: number | null, after: number}} Point of one size of a log, by error; `k`:
 *   which shape of job
 *
 * @param {Point[]} points
 * @param {number} most error that is drawn
 * @param {number} width
 */
function plotErrors(points, most, width) {
  const height = 340;
  const box = {left: 46, right: width - 12, top: 24, bottom: height - 42};
  const sizes = points.map((point) => point.size);
  const x = logarithmic([Math.min(...sizes) / 1.3, Math.max(...sizes) * 1.3], [box.left, box.right]);
  const y = linear([-most, most], [box.bottom, box.top], 6);
  const into = picture(width, height);
  const places = placesOf(y.ticks[1] - y.ticks[0]);
  const words = {xTitle: 'size, bytes (binary prefixes)', yTitle: 'error, % (above 0: predicted too long)'};
  axes(into, box, x, y, {x: sizeTick, y: (value) => fixed(value, places), ...words});
  into.append(svg('line', {class: 'axis', x1: box.left, x2: box.right, y1: y.place(0), y2: y.place(0)}));
  for (const {k, size, before} of points)
    if (before !== null && Math.abs(before) <= most) into.append(marker(k, x.place(size), y.place(before), true));
  for (const {k, size, after} of points) into.append(marker(k, x.place(size), y.place(after), false));
  return into;
}

/** @param {CalibrateResult} calibration */
function summaryOf({calibrated, model_alone: alone}) {
  const before = alone
    ? `; without calibration: ${percent(alone.median_abs_error_percent)}, ${percent(alone.p90_abs_error_percent)}`
    : '';
  return `Calibrated: median ${percent(calibrated.median_abs_error_percent)}, ` +
    `p90 ${percent(calibrated.p90_abs_error_percent)}${before}.`;
}

/** @param {Residual[]} rows @returns {import('./table.js').Table} */
function residualTable(rows) {
  const us = (/** @type {any} */ value) => digits(Number(value), 4);
  return {
    file: 'residuals',
    columns: [
      {title: 'log', text: true, long: true},
      {title: 'nodes'},
      {title: 'GPUs a node'},
      {title: 'size', unit: 'B'},
      {title: 'NCCL', text: true},
      {title: 'measured', unit: 'us', show: us},
      {title: 'cost model', unit: 'us', show: us},
      {title: 'calibrated', unit: 'us', show: us},
      {title: 'error', unit: '%', show: (value) => digits(Number(value), 2)},
    ],
    rows: rows.map(
      (row) =>
        [row.source, row.nodes, row.gpus_per_node, row.size_bytes,
         [row.algorithm, row.protocol].filter(Boolean).join(' '), row.measured_us, row.modelled_us ?? null,
         row.calibrated_us, error(row.calibrated_us, row.measured_us)]),
  };
}

/** @param {CalibrateResult} calibration */
export function residualCard(calibration) {
  const rows = calibration.residuals;
  if (!rows.length) return null;
  const shapes = [...new Set(rows.map(shapeOf))];
  const points = rows.filter((row) => row.size_bytes > 0 && row.measured_us > 0).map((row) => {
    const before = row.modelled_us === undefined ? null : error(row.modelled_us, row.measured_us);
    return {
      k: shapes.indexOf(shapeOf(row)),
      size: row.size_bytes,
      before,
      after: error(row.calibrated_us, row.measured_us)
    };
  });
  // Large errors before calibration must not flatten the errors after it.
  const all = points.map((point) => Math.abs(point.after));
  const most = Math.max(5, ...all) * 1.15;
  const label = `Errors of ${points.length} sizes after calibration, within ${digits(Math.max(...all), 2)} percent`;
  return cardElement({
    title: 'Errors after calibration, by size',
    about: summaryOf(calibration),
    body: [
      markerLegend(shapes.slice(0, 12), ['hollow: cost model without calibration']),
      chart((width) => plotErrors(points, most, width), label)
    ],
    table: residualTable(rows),
  });
}

/** @param {CalibrateResult} calibration */
export function leftOutCard(calibration) {
  const shapes = calibration.shapes_left_out.flatMap((shape) => {
    const errors = shape.predicted_from_others ?? shape.predicted_by_specification;
    return errors ? [{...shape, errors}] : [];
  });
  if (!shapes.length) return null;
  const most = Math.max(...shapes.map(({errors}) => errors.p90_abs_error_percent));
  return cardElement({
    title: 'Each job shape predicted without its logs',
    about: 'What to expect of a job shape that nobody measured. Bars: median error; whiskers: up to p90.',
    half: true,
    body: [
      barChart({
        domain: [0, most * 1.04 || 1],
        label: 'Error of each job shape left out',
        bars: shapes.map(
          (shape) => ({
            label: `${shape.nodes} × ${shape.gpus_per_node} GPUs`,
            note: shape.predicted_from_others ? '' : 'from data sheets: no other log',
            from: 0,
            to: shape.errors.median_abs_error_percent,
            low: shape.errors.median_abs_error_percent,
            high: shape.errors.p90_abs_error_percent,
            tone: 'plain',
            text: percent(shape.errors.median_abs_error_percent)
          })),
      }),
    ],
    table: {
      file: 'shapes',
      columns: [
        {title: 'nodes'}, {title: 'GPUs a node'},
        {title: 'median error', unit: '%', show: (value) => digits(Number(value), 2)},
        {title: 'p90', unit: '%', show: (value) => digits(Number(value), 2)}, {title: 'sizes'}
      ],
      rows: shapes.map(
        ({nodes, gpus_per_node: gpus, errors}) =>
          [nodes, gpus, errors.median_abs_error_percent, errors.p90_abs_error_percent, errors.sizes ?? null]),
    },
  });
}

/** @param {CalibrateResult} calibration */
export function constantsCard(calibration) {
  const rows = calibration.constants;
  if (!rows.length) return null;
  const show = (/** @type {any} */ value) => digits(Number(value), 3);
  return cardElement({
    title: 'Constants of the cost model',
    half: true,
    tableShown: true,
    body: [],
    table: {
      file: 'constants',
      columns: [
        {title: 'constant', text: true}, {title: 'of', text: true}, {title: 'before', show}, {title: 'fitted', show},
        {title: 'low', show}, {title: 'high', show}, {title: 'unit', text: true}
      ],
      rows: rows.map(
        (row) =>
          [row.name, row.element ?? null, row.before, row.value, row.low ?? null, row.high ?? null, row.unit ?? null]),
    },
  });
}

/** @param {CalibrateResult} calibration */
export function notesCard(calibration) {
  const notes = [
    ...calibration.read, ...(calibration.model_misses ?? []), ...(calibration.notes ?? []),
    ...calibration.left_out.map((log) => `${log.source} was left out: ${log.reason}`)
  ];
  if (!notes.length) return null;
  return cardElement(
    {title: 'Input and notes', body: [html('ul', {}, ...notes.map((note) => html('li', {}, name(note, 1000))))]});
}
