// Which part of the cap curve is drawn. Steps near the current one decide; much slower steps leave through the top.

import {greatest, smallest} from './scale.js';

/**
 * @typedef {import('documents').TuneResult} TuneResult
 * @typedef {import('documents').CurvePoint} CurvePoint
 *
 * @typedef {object} CurveRange caps in MiB, steps in microseconds
 * @property {number} from least cap
 * @property {number} to greatest cap
 * @property {number} low shortest step
 * @property {number} high longest step
 * @property {number} today the current step
 * @property {number | null} bound no step is shorter; null where that lies too far below the others
 * @property {boolean} cut whether some steps are much slower than `high`
 */

const kLeastCap = 0.25; // MiB: below, kernels alone are launched

/**
 * Points of the curve that one cap reaches, by cap: the first bucket is as large as the others, or as it is by default.
 * @param {TuneResult} tune
 * @returns {CurvePoint[]}
 */
export function shownPoints(tune) {
  const ownFirst = [null, tune.default.first_bucket_mb];
  return tune.curve
    .filter(
      ({reachable, bucket_cap_mb, first_bucket_mb}) => reachable && bucket_cap_mb !== null &&
        (first_bucket_mb === bucket_cap_mb || ownFirst.includes(first_bucket_mb)))
    .filter((point) => point.cap_range_mb[1] >= kLeastCap)
    .sort((a, b) => a.cap_range_mb[0] - b.cap_range_mb[0]);
}

/**
 * @param {TuneResult} tune
 * @param {CurvePoint[]} points two or more
 * @returns {CurveRange}
 */
export function curveRange(tune, points) {
  const {recommended} = tune;
  const measurable = recommended.measurable_us ?? 0;
  const today = tune.today?.iteration_us ?? tune.default.iteration_us;
  const from = Math.max(kLeastCap, smallest(Infinity, points.map((point) => point.cap_range_mb[0])));
  const to = greatest(from * 1.5, points.map(({cap_range_mb: [least, most]}) => Math.min(most, 4 * least + 1)));

  const steps = points.map((point) => point.iteration_us);
  const hoped = today - Math.max(0, recommended.gain_us?.high ?? 0) * (recommended.action === 'set' ? 1 : 0);
  const least = smallest(Math.min(hoped, tune.best_partition?.iteration_us ?? Infinity), steps);
  // Caps below 1 MiB count only where they are no slower: their steps would flatten the rest.
  const seen = points.filter((point) => point.cap_range_mb[1] >= 1 || point.iteration_us <= today);
  const slowest = greatest(today, seen.length ? seen.map((point) => point.iteration_us) : steps);
  const most = Math.min(slowest, today + Math.max(2.5 * (today - least), 3 * measurable));
  const range = Math.max(most - least, measurable * 2, today * 1e-4);
  const bound = tune.lower_bound_us >= least - range * 0.6 ? tune.lower_bound_us : null;
  const low = Math.min(least, bound ?? least) - range * 0.06;
  return {from, to, low, high: most + range * 0.06, today, bound, cut: slowest > most};
}
