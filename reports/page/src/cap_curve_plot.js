// The cap curve as a picture: the step of each cap, the current step, the recommended cap and the next worse ones.

import {svg} from './dom.js';
import {axes, label, path, picture} from './plot.js';
import {linear, logarithmic, placesOf} from './scale.js';
import {fixed, time, timeUnit} from './units.js';

/**
 * @typedef {import('documents').TuneResult} TuneResult
 * @typedef {import('documents').CurvePoint} CurvePoint
 * @typedef {import('./cap_curve_range.js').CurveRange} CurveRange
 *
 * @typedef {object} Plot what the parts of one picture share
 * @property {SVGSVGElement} into
 * @property {import('./plot.js').Box} box
 * @property {CurveRange} range
 * @property {(mb: number) => number} across place of a cap; a cap beyond the range stands at its end
 * @property {(us: number) => number} up place of a step time
 * @property {(place: number) => number} capAt the inverse of `across`
 * @property {SVGGElement} marks
 * @property {SVGGElement} labels above all marks
 */

/** @param {number | null} mb */
export function capText(mb) {
  return mb === null ? '' : `${Number(mb.toPrecision(4))}`;
}

/**
 * @param {TuneResult} tune
 * @param {CurvePoint[]} points
 * @param {CurveRange} range
 * @param {number} width
 * @returns {Plot}
 */
export function plotCurve(tune, points, range, width) {
  const height = width < 520 ? 300 : 340;
  const box = {left: 52, right: width - 10, top: 24, bottom: height - 42};
  const unit = timeUnit(range.today);
  const x = logarithmic([range.from, range.to], [box.left, box.right]);
  const y = linear([range.low / unit.us, range.high / unit.us], [box.bottom, box.top], 5);
  const into = picture(width, height);
  const places = placesOf(y.ticks.length > 1 ? y.ticks[1] - y.ticks[0] : 1);
  const words = {x: capText, y: (/** @type {number} */ value) => fixed(value, places)};
  axes(into, box, x, y, {...words, xTitle: 'bucket_cap_mb, MiB', yTitle: `step, ${unit.name}`});
  /** @type {Plot} */
  const plot = {
    into,
    box,
    range,
    across: (mb) => x.place(Math.min(range.to, Math.max(range.from, mb))),
    up: (us) => y.place(us / unit.us),
    capAt: x.value,
    marks: svg('g', {}),
    labels: svg('g'),
  };
  drawAreas(plot, tune);
  drawSteps(plot, points);
  drawLevels(plot, tune);
  drawRecommended(plot, tune);
  drawNextWorse(plot, tune);
  into.append(plot.marks, plot.labels);
  return plot;
}

/**
 * Gains too small to be measured, and caps as good as the recommended one.
 * @param {Plot} plot
 * @param {TuneResult} tune
 */
function drawAreas({box, range, across, up, marks}, {recommended}) {
  if (recommended.measurable_us) {
    const top = up(range.today);
    const height = Math.max(0, Math.min(box.bottom, up(range.today - recommended.measurable_us)) - top);
    marks.append(svg('rect', {class: 'measurable', x: box.left, width: box.right - box.left, y: top, height}));
  }
  if (recommended.action === 'set' && recommended.cap_range_mb) {
    const [left, right] = recommended.cap_range_mb.map(across);
    const [width, height] = [Math.max(2, right - left), box.bottom - box.top];
    marks.append(svg('rect', {class: 'plateau', x: left, width, y: box.top, height}));
  }
}

/** @param {Plot} plot @param {CurvePoint[]} points */
function drawSteps(plot, points) {
  const {box, range, across, up, marks} = plot;
  if (points.some((point) => point.if_communication_us !== undefined))
    marks.append(path('reading', stepLine(plot, points, (point) => point.if_communication_us ?? point.iteration_us)));
  marks.append(path('curve', stepLine(plot, points, (point) => point.iteration_us)));
  if (points.length > 40) return;
  for (const point of points) {
    const cy = up(point.iteration_us);
    const cx = across(point.bucket_cap_mb ?? range.from);
    if (cy >= box.top - 1) marks.append(svg('circle', {class: 'point', cx, cy, r: 2.5}));
  }
}

/**
 * Level over the caps that give the same buckets, then straight down or up.
 * @param {Plot} plot
 * @param {CurvePoint[]} points
 * @param {(point: CurvePoint) => number} of
 */
function stepLine({box, across, up}, points, of) {
  let d = '';
  for (const point of points) {
    const [left, right] = point.cap_range_mb.map((mb) => across(mb).toFixed(1));
    const y = Math.max(box.top - 2, up(of(point))).toFixed(1);
    d += d ? `H${left}V${y}H${right}` : `M${left} ${y}H${right}`;
  }
  return d;
}

/**
 * Lines across the picture: the bound that no cap can beat, the best partition, the current step.
 * @param {Plot} plot
 * @param {TuneResult} tune
 */
function drawLevels({box, range, up, marks, labels}, {best_partition: partition}) {
  /** @type {number[]} */
  const atRight = [];
  // A label stands at the right end of its line, or at the left one where another label is near.
  const level = (
    /** @type {number} */ us, /** @type {string} */ kind, /** @type {string} */ text, /** @type {boolean} */ below) => {
    const y = up(us) + (below ? 14 : -5);
    const right = !atRight.some((other) => Math.abs(other - y) < 15);
    if (right) atRight.push(y);
    marks.append(svg('line', {class: kind, x1: box.left, x2: box.right, y1: up(us), y2: up(us)}));
    const x = right ? box.right - 4 : box.left + 6;
    labels.append(label(text, x, y, {anchor: right ? 'end' : 'start', kind: 'halo'}));
  };
  const {bound, today} = range;
  if (bound !== null) level(bound, 'bound', `if collectives took no time: ${time(bound, 4)}`, false);
  if (partition) {
    const us = partition.iteration_us;
    level(us, 'partition', `best of all partitions: ${time(us, 4)}`, up(us) < box.bottom - 18);
  }
  level(today, 'today', `current ${time(today, 4)}`, up(today) < box.top + 20);
  if (range.cut) labels.append(label('↑ much slower', box.right - 4, box.top + 12, {anchor: 'end', kind: 'small'}));
}

/**
 * The recommended cap, and the interval of its step.
 * @param {Plot} plot
 * @param {TuneResult} tune
 */
function drawRecommended({box, range, across, up, marks}, {recommended}) {
  const {action, bucket_cap_mb: cap, gain_us: gain} = recommended;
  if (action !== 'set' || !cap || !gain) return;
  const x = across(cap);
  const {value, low, high} = gain;
  const [bottom, top] = [up(range.today - low), up(range.today - high)];
  let anchor = 'middle';
  if (x > box.right - 40)
    anchor = 'end';
  else if (x < box.left + 40)
    anchor = 'start';
  marks.append(
    path('whisker', `M${x} ${bottom}V${top}M${x - 4} ${bottom}h8M${x - 4} ${top}h8`),
    svg('circle', {class: 'advised', cx: x, cy: up(range.today - value), r: 5.5}),
    // The title of the axis stands to the left.
    label(`${capText(cap)} MiB`, Math.max(x, box.left + 20), box.top - 7, {anchor, kind: 'advised-label'}));
}

/** @param {Plot} plot @param {TuneResult} tune */
function drawNextWorse({box, range, across, marks}, {recommended: {next_worse: next}}) {
  if (!next) return;
  for (const [mb, loss] of [[next.below_mb, next.below_loss_us], [next.above_mb, next.above_loss_us]]) {
    if (mb === null || loss === null || mb < range.from || mb > range.to) continue;
    const x = across(mb);
    marks.append(path('cliff', `M${x} ${box.bottom}v-10M${x - 4} ${box.bottom - 5}l4 -6l4 6`));
  }
}
