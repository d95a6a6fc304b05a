// Step time by bucket cap: the current and the recommended cap, the caps that are as good, the next worse ones, and the
// bound that no cap can beat.

import {cardElement} from './card.js';
import {capText, plotCurve} from './cap_curve_plot.js';
import {curveRange, shownPoints} from './cap_curve_range.js';
import {html, svg} from './dom.js';
import {legendList} from './legend.js';
import {chart} from './plot.js';
import {counted, milliseconds, time} from './units.js';

/**
 * @typedef {import('documents').TuneResult} TuneResult
 * @typedef {import('documents').CurvePoint} CurvePoint
 */

/** @param {TuneResult} tune */
export function capCurveCard(tune) {
  const title = 'Step time by bucket cap';
  const points = shownPoints(tune);
  const table = curveTable(tune);
  if (points.length < 2) return cardElement({title, table, tableShown: true, body: []});

  const {stage, readout, showCap} = interactiveCurve(tune, points);
  const some = points.length < tune.bucketings
    ? `${points.length} of ${tune.bucketings} bucketings`
    : `${counted(points.length, 'bucketing')}, each simulated`;
  const about = `${some}. Caps that give the same buckets share one level of the line.`;
  const card = cardElement({title, about, body: [curveLegend(tune, points), stage, readout], table});
  // The workbench shows where on the curve its cap lies.
  card.addEventListener('cap', (event) => showCap(/** @type {CustomEvent<number>} */ (event).detail));
  return card;
}

/**
 * The picture, and a cursor on it that goes from cap to cap by pointer and by keys.
 * @param {TuneResult} tune
 * @param {CurvePoint[]} points
 */
function interactiveCurve(tune, points) {
  const range = curveRange(tune, points);
  const readout = html('p', {class: 'readout', 'aria-live': 'polite'});
  readout.textContent = 'Point at the curve, or use the arrow keys, to read a cap.';
  /** @type {{at: number, show: (index: number) => void}} */
  const cursor = {at: -1, show: () => {}};
  /** @param {number} mb */
  const pointAt = (mb) => Math.max(0, points.filter((point) => point.cap_range_mb[0] <= mb).length - 1);

  const draw = (/** @type {number} */ width) => {
    const {into, box, across, up, capAt} = plotCurve(tune, points, range, width);
    const mark = svg('g', {class: 'cursor'});
    into.append(mark);
    cursor.show = (index) => {
      cursor.at = Math.max(0, Math.min(points.length - 1, index));
      const point = points[cursor.at];
      const [left, right] = point.cap_range_mb.map(across);
      const at = (left + right) / 2;
      mark.replaceChildren(
        svg('line', {x1: at, x2: at, y1: box.top, y2: box.bottom}),
        svg('circle', {cx: at, cy: Math.max(box.top, up(point.iteration_us)), r: 4}));
      readout.textContent = describe(point, range.today);
    };
    const follow = (/** @type {MouseEvent} */ event) => {
      const bounds = into.getBoundingClientRect();
      cursor.show(pointAt(capAt(((event.clientX - bounds.left) / bounds.width) * width)));
    };
    into.addEventListener('pointermove', follow);
    into.addEventListener('pointerdown', follow);
    if (cursor.at >= 0) cursor.show(cursor.at);
    return into;
  };

  const words = `Step time by bucket cap, ${counted(points.length, 'bucketing')}: ` +
    `current ${time(range.today)}, fastest ${time(tune.best.iteration_us)}`;
  const name = 'Step time by bucket cap; arrow keys go from cap to cap';
  const stage = html('div', {class: 'stage', tabindex: 0, role: 'application', 'aria-label': name}, chart(draw, words));
  const first = firstShown(tune, points);
  stage.addEventListener('keydown', (event) => {
    const by = /** @type {Record<string, number>} */ (
      {ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9})[event.key];
    if (by === undefined) return;
    cursor.show(cursor.at < 0 ? first : cursor.at + by);
    event.preventDefault();
  });
  return {stage, readout, showCap: (/** @type {number} */ mb) => cursor.show(pointAt(mb))};
}

/**
 * The cursor begins at the recommended cap or, if there is none, at the smallest one.
 * @param {TuneResult} tune
 * @param {CurvePoint[]} points
 */
function firstShown({recommended: {bucket_cap_mb: cap = null}}, points) {
  const holds = (/** @type {CurvePoint} */ {cap_range_mb: [least, most]}) =>
    cap !== null && least <= cap && cap <= most;
  return Math.max(0, points.findIndex(holds));
}

/** @param {TuneResult} tune @param {CurvePoint[]} points */
function curveLegend({recommended}, points) {
  /** @type {[string, string][]} */
  const entries = [];
  if (recommended.action === 'set' && recommended.bucket_cap_mb !== null) {
    entries.push(['advised', 'recommended, with its interval']);
    const [low, high] = recommended.cap_range_mb ?? [0, 0];
    if (low < high) entries.push(['plateau', `as good: ${capText(low)} to ${capText(high)} MiB`]);
  }
  if (recommended.measurable_us)
    entries.push(['measurable', `too small to measure (under ${time(recommended.measurable_us, 2)})`]);
  if (points.some((point) => point.if_communication_us !== undefined))
    entries.push(['reading', 'if the replay misses communication']);
  const next = recommended.next_worse;
  const worse = [];
  if (next && next.below_mb !== null)
    worse.push(`${capText(next.below_mb)} MiB (+${time(next.below_loss_us ?? 0, 2)})`);
  if (next && next.above_mb !== null)
    worse.push(`${capText(next.above_mb)} MiB (+${time(next.above_loss_us ?? 0, 2)})`);
  if (worse.length) entries.push(['cliff', `next worse: ${worse.join(', ')}`]);
  return legendList(entries);
}

/** @param {CurvePoint} point @param {number} today */
function describe(point, today) {
  const [low, high] = point.cap_range_mb;
  const gain = today - point.iteration_us;
  const caps = low === high ? capText(low) : `${capText(low)} to ${capText(high)}`;
  const against = Math.abs(gain) < 0.5
    ? 'same as the current step'
    : `${time(Math.abs(gain))} ${gain > 0 ? 'shorter' : 'longer'} than the current step`;
  return `${caps} MiB: ${time(point.iteration_us, 4)}, ${against}; ` +
    `${counted(point.buckets, 'bucket')}, ${time(point.blocking_communication_us)} blocked by communication.`;
}

/** @param {TuneResult} tune @returns {import('./table.js').Table} */
function curveTable(tune) {
  const cap = (/** @type {any} */ value) => capText(Number(value));
  return {
    file: 'caps',
    columns: [
      {title: 'bucket_cap_mb', unit: 'MiB', show: cap},
      {title: 'first bucket', unit: 'MiB', show: cap},
      {title: 'same buckets from', unit: 'MiB', show: cap},
      {title: 'same buckets up to', unit: 'MiB', show: cap},
      {title: 'step', unit: 'ms', show: milliseconds.show},
      {title: 'blocked by communication', unit: 'ms', show: milliseconds.show},
      {title: 'buckets'},
    ],
    rows: tune.curve.map(
      (point) =>
        [point.bucket_cap_mb, point.first_bucket_mb, ...point.cap_range_mb, milliseconds.of(point.iteration_us),
         milliseconds.of(point.blocking_communication_us), point.buckets]),
  };
}
