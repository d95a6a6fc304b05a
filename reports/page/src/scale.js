// From values to places on a chart, and the ticks of its axes.

/**
 * @typedef {object} Scale
 * @property {(value: number) => number} place
 * @property {(place: number) => number} value the inverse
 * @property {number[]} ticks round values inside the domain
 */

/**
 * Like Math.max, which fails if its arguments do not fit on the stack: a step may have a hundred thousand spans.
 * @param {number} least
 * @param {Iterable<number>} values
 */
export function greatest(least, values) {
  let most = least;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/**
 * Like Math.min, for the same reason.
 * @param {number} most
 * @param {Iterable<number>} values
 */
export function smallest(most, values) {
  let least = most;
  for (const value of values) least = Math.min(least, value);
  return least;
}

/**
 * 1, 2 or 5 times a power of ten, the nearest by ratio.
 * @param {number} raw
 */
export function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  const times = [1, 2, 5].find((k, i, all) => raw / power < Math.sqrt(k * (all[i + 1] ?? 10))) ?? 10;
  return times * power;
}

/**
 * Decimal places that tell two ticks from each other.
 * @param {number} step between them
 */
export function placesOf(step) {
  return Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
}

/**
 * @param {[number, number]} domain
 * @param {[number, number]} range
 * @param {number} [about] ticks
 * @returns {Scale}
 */
export function linear([from, to], [left, right], about = 6) {
  const span = to - from || 1;
  const step = roundStep(Math.abs(span) / Math.max(1, about));
  const ticks = [];
  const first = Math.ceil(from / step - 1e-9);
  for (let k = first; k * step <= to + step * 1e-9 && ticks.length < 200; ++k)
    ticks.push(Number((k * step).toPrecision(12)));
  return {
    place: (value) => left + ((right - left) * (value - from)) / span,
    value: (place) => from + (span * (place - left)) / (right - left),
    ticks,
  };
}

/**
 * Ticks are doublings, as people choose caps and sizes; 1, 2, 5, 10, … if `base` is 10.
 * @param {[number, number]} domain above 0
 * @param {[number, number]} range
 * @param {2 | 10} [base]
 * @returns {Scale}
 */
export function logarithmic([from, to], [left, right], base = 2) {
  const low = Math.log(from);
  const span = Math.log(to) - low || 1;
  const ticks = [];
  const inside = (/** @type {number} */ value) => value >= from * (1 - 1e-9) && value <= to * (1 + 1e-9);
  const log = Math.log(base);
  for (let k = Math.floor(Math.log(from) / log); k <= Math.ceil(Math.log(to) / log); ++k)
    for (const times of base === 10 ? [1, 2, 5] : [1])
      if (inside(times * base ** k)) ticks.push(times * base ** k);
  return {
    place: (value) => left + ((right - left) * (Math.log(Math.max(value, 1e-300)) - low)) / span,
    value: (place) => Math.exp(low + (span * (place - left)) / (right - left)),
    ticks,
  };
}

/**
 * Every n-th tick, so that at most `most` remain.
 * @param {number[]} ticks
 * @param {number} most
 */
export function thinned(ticks, most) {
  const every = Math.max(1, Math.ceil(ticks.length / Math.max(1, most)));
  return ticks.filter((_, i) => i % every === 0);
}
