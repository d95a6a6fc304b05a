// Quantities as people read them: always with a unit, with the digits that matter.

export const kMinus = '\u2212';

/**
 * @param {number} value
 * @param {number} decimals
 */
export function fixed(value, decimals) {
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? kMinus + text : text;
}

/**
 * Decimals that leave about this many significant digits.
 * @param {number} value
 * @param {number} [digits]
 */
export function decimals(value, digits = 3) {
  const size = Math.abs(value);
  if (!(size > 0) || !Number.isFinite(size)) return 0;
  return Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(size) + 1e-9)));
}

/** @param {number} value @param {number} [digits] */
export function digits(value, digits = 3) {
  return fixed(value, decimals(value, digits));
}

/**
 * Sets thousands apart: "7 908 300".
 * @param {string} number
 * @param {number} [from] fewest digits of a number that needs it
 */
export function grouped(number, from = 5) {
  return (number.match(/^\D?(\d+)/)?.[1].length ?? 0) >= from
    ? number.replace(/\d(?=(\d{3})+(\.|$))/g, '$&\u2009')
    : number;
}

/** @typedef {{name: string, us: number}} TimeUnit */

/**
 * One unit for all values of a chart, chosen by the largest.
 * @param {number} us
 * @returns {TimeUnit}
 */
export function timeUnit(us) {
  const size = Math.abs(us);
  if (size >= 1e6) return {name: 's', us: 1e6};
  return size >= 1000 ? {name: 'ms', us: 1000} : {name: 'us', us: 1};
}

/** @param {number} us @param {number} [most] digits */
export function time(us, most = 3) {
  const unit = timeUnit(us);
  return `${digits(us / unit.us, most)} ${unit.name}`;
}

/**
 * Binary, as PyTorch counts buckets.
 * @param {number} count
 */
export function bytes(count) {
  if (Math.abs(count) < 1024) return `${count} B`;
  if (Math.abs(count) < 2 ** 20) return `${digits(count / 2 ** 10)} KiB`;
  return Math.abs(count) < 2 ** 30 ? `${digits(count / 2 ** 20)} MiB` : `${digits(count / 2 ** 30)} GiB`;
}

/** @param {number} value @param {number} [most] */
export function percent(value, most = 2) {
  return `${digits(value, most)} %`;
}

/**
 * A value and its interval in one unit, with the digits of the value.
 * @param {{value: number, low: number, high: number}} gain microseconds
 */
export function timeWithInterval({value, low, high}) {
  const unit = timeUnit(Math.max(Math.abs(value), Math.abs(high)));
  const places = decimals(value / unit.us, 3);
  const text = (/** @type {number} */ us) => fixed(us / unit.us, places);
  return {figure: `${text(value)} ${unit.name}`, interval: `${text(low)} to ${text(high)} ${unit.name}`};
}

/**
 * With its sign.
 * @param {number} value
 * @param {(value: number) => string} text
 */
export function signed(value, text) {
  return value > 0 ? `+${text(value)}` : text(value);
}

/** @param {number} low @param {number} high @param {number} [places] */
export function interval(low, high, places) {
  const most = places ?? Math.max(decimals(low, 2), decimals(high, 2), 0);
  return `${fixed(low, Math.min(3, most))} to ${fixed(high, Math.min(3, most))}`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many) {
  return `${count} ${count === 1 ? one : many ?? `${one}s`}`;
}

/** A column of a table: milliseconds, kept to the picosecond and shown to the microsecond. */
export const milliseconds = {
  of: (/** @type {number} */ us) => Number((us / 1000).toFixed(9)),
  show: (/** @type {any} */ value) => fixed(Number(value), 3),
};
