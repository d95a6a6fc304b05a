// The scaling curve: training speed by number of GPUs, in all and per GPU, with the ideal and 80 % intervals. Each
// cluster that is there in several sizes is a line.

import {cardElement} from './card.js';
import {ranked} from './compare.js';
import {html, svg} from './dom.js';
import {markerLegend} from './legend.js';
import {axes, chart, label, marker, path, picture} from './plot.js';
import {linear, logarithmic, placesOf} from './scale.js';
import {digits, fixed, grouped, interval, percent} from './units.js';

/**
 * @typedef {import('./envelope.js').CompareResult} CompareResult
 * @typedef {ReturnType<typeof ranked>[number]} RankedRow
 *
 * @typedef {object} Point of one cluster size
 * @property {string} label
 * @property {number} gpus
 * @property {number} speed
 * @property {number} low
 * @property {number} high
 * @property {number | null} ideal speed if every GPU were as fast as one that works alone
 *
 * @typedef {{name: string, points: Point[]}} Family sizes of one cluster, by number of GPUs
 */

// Families with a colour; further ones are grey.
const kColours = 6;
// More bands would hide each other.
const kBands = 3;

/**
 * A cluster without its number of nodes: "p3dn" of "p3dn@4".
 * @param {string} cluster
 */
function familyOf(cluster) {
  if (cluster.includes('@')) return cluster.replace(/@\d+$/, '');
  return cluster.replace(/(^| )node:\d+( |$)/, '$1').trim();
}

/** @param {RankedRow} row @returns {Point} */
function pointOf(row) {
  const gpus = row.ranks ?? 1;
  const speed = row.samples_per_second ?? gpus / (row.iteration_us * 1e-6);
  const [low, high] = row.confidence.interval_percent;
  return {
    label: row.label,
    gpus,
    speed,
    low: speed / (1 + high / 100),
    high: speed / (1 + low / 100),
    ideal: row.scaling_efficiency ? speed / row.scaling_efficiency : null
  };
}

/**
 * Families with several sizes, the fastest at its largest size first.
 * @param {RankedRow[]} rows
 */
function familiesOf(rows) {
  /** @type {Map<string, Point[]>} */
  const known = new Map();
  for (const row of rows) known.set(familyOf(row.label), [...known.get(familyOf(row.label)) ?? [], pointOf(row)]);
  return [...known]
    .map(([name, points]) => ({name, points: points.sort((a, b) => a.gpus - b.gpus)}))
    .filter(({points}) => points[0].gpus < points[points.length - 1].gpus)
    .sort((a, b) => b.points[b.points.length - 1].speed - a.points[a.points.length - 1].speed);
}

/** @param {Family[]} families @param {boolean} perGpu @param {string} unit @param {number} width */
function plotScaling(families, perGpu, unit, width) {
  const height = 300;
  const box = {left: 62, right: width - 14, top: 24, bottom: height - 42};
  const of = (/** @type {Point} */ point, /** @type {number} */ speed) => perGpu ? speed / point.gpus : speed;
  const points = families.flatMap((family) => family.points);
  const reach =
    points.flatMap((point) => [point.low, point.high, point.ideal ?? point.high].map((at) => of(point, at)));
  const sizes = [...new Set(points.map((point) => point.gpus))].sort((a, b) => a - b);
  const across = {...logarithmic([sizes[0] / 1.1, sizes[sizes.length - 1] * 1.1], [box.left, box.right]), ticks: sizes};
  const [least, most] = [Math.min(...reach), Math.max(...reach)];
  const up = perGpu
    ? linear([most < 2 * least ? least - 0.05 * (most - least) : 0, most * 1.02], [box.bottom, box.top], 5)
    : logarithmic([least / 1.1, most * 1.1], [box.bottom, box.top], 10);
  const places = perGpu && up.ticks.length > 1 ? placesOf(up.ticks[1] - up.ticks[0]) : 0;
  const into = picture(width, height);
  axes(into, box, across, up, {
    x: String,
    y: (value) => perGpu ? fixed(value, places) : digits(value, 1),
    xTitle: 'GPUs',
    yTitle: perGpu ? `training speed per GPU, ${unit}` : `training speed, ${unit}`
  });
  const at = (/** @type {Point} */ point, /** @type {number} */ speed) =>
    `${across.place(point.gpus).toFixed(1)} ${up.place(of(point, speed)).toFixed(1)}`;
  const line = (/** @type {Point[]} */ of, /** @type {(point: Point) => number} */ speed) =>
    of.map((point) => at(point, speed(point)));
  const coloured = families.slice(0, kColours);
  for (const {points} of coloured) {
    const known = points.filter((point) => point.ideal !== null);
    into.append(path('ideal', `M${line(known, (point) => point.ideal ?? 0).join('L')}`));
  }
  for (const {name, points} of families.slice(kColours)) {
    const grey = path('grey', `M${line(points, (point) => point.speed).join('L')}`);
    grey.append(svg('title', {}, name));
    into.append(grey);
  }
  coloured.forEach(({points}, k) => {
    const around = [...line(points, (point) => point.high), ...line(points, (point) => point.low).reverse()];
    if (coloured.length <= kBands)
      into.append(path(`band m${k}`, `M${around.join('L')}Z`));
    else
      into.append(path(`interval m${k}`, bars(points, across.place, (point, speed) => up.place(of(point, speed)), k)));
  });
  coloured.forEach(({points}, k) => {
    into.append(path(`series m${k}`, `M${line(points, (point) => point.speed).join('L')}`));
    for (const point of points) {
      const mark = marker(k, across.place(point.gpus), up.place(of(point, point.speed)), false);
      mark.append(svg('title', {}, told(point, unit)));
      into.append(mark);
    }
  });
  const [{points: first}] = families;
  const last = first[first.length - 1];
  if (last.ideal !== null)
    into.append(
      label('ideal', across.place(last.gpus), up.place(of(last, last.ideal)) - 6, {anchor: 'end', kind: 'small'}));
  return into;
}

/**
 * An interval at each size, beside those of other families.
 * @param {Point[]} points
 * @param {(gpus: number) => number} across
 * @param {(point: Point, speed: number) => number} up
 * @param {number} k
 */
function bars(points, across, up, k) {
  return points
    .map((point) => `M${across(point.gpus) + 3 * (k - 2.5)} ${up(point, point.low)}V${up(point, point.high)}`)
    .join('');
}

/** @param {Point} point @param {string} unit */
function told({label: cluster, gpus, speed, low, high, ideal}, unit) {
  const efficiency = ideal ? `, scaling efficiency ${percent((100 * speed) / ideal, 3)}` : '';
  return `${cluster}, ${gpus} GPUs: ${grouped(digits(speed))} ${unit} (80 % interval ${interval(low, high, 0)})${
    efficiency}`;
}

/** @param {CompareResult} compare */
export function scalingCard(compare) {
  const rows = ranked(compare);
  const families = familiesOf(rows);
  if (!families.length) return null;
  const unit = rows.every((row) => row.samples_per_second) ? 'samples/s' : 'batches/s';
  const draw = (/** @type {boolean} */ perGpu) =>
    chart((width) => plotScaling(families, perGpu, unit, width), perGpu ? 'Training speed per GPU' : 'Scaling curve');
  const show = (/** @type {any} */ value) => digits(Number(value), 4);
  return cardElement({
    title: 'Scaling',
    about: 'Dashed: ideal, every GPU as fast as one that works alone. ' +
      (families.length <= kBands ? 'Bands' : 'Bars') + ' are 80 % intervals of each cluster by itself.',
    body: [
      markerLegend(
        families.slice(0, kColours).map((family) => family.name),
        families.length > kColours ? [`grey: ${families.length - kColours} slower at the largest size`] : []),
      html('div', {class: 'pair'}, draw(false), draw(true))
    ],
    table: {
      file: 'scaling',
      columns: [
        {title: 'cluster', text: true, long: true},
        {title: 'GPUs'},
        {title: 'speed', unit, show},
        {title: 'low', unit, show},
        {title: 'high', unit, show},
        {title: 'ideal', unit, show},
        {title: 'efficiency', unit: '%', show: (value) => digits(Number(value), 3)},
      ],
      rows: families.flatMap(
        ({points}) => points.map(
          ({label: cluster, gpus, speed, low, high, ideal}) =>
            [cluster, gpus, speed, low, high, ideal, ideal && (100 * speed) / ideal])),
    },
  });
}
