// Cost against time: the candidates of which none is both cheaper and faster are joined by a line, the others are grey.

import {svg} from './dom.js';
import {axes, chart, label, path, picture} from './plot.js';
import {linear, logarithmic, placesOf} from './scale.js';
import {digits, fixed, grouped} from './units.js';

/**
 * @typedef {object} Candidate
 * @property {string} label
 * @property {boolean} frontier whether no other is both cheaper and faster
 * @property {import('documents').Interval} usd
 * @property {number} usdPerHour
 */

/** @type {[string, number][]} hours in a unit of time, largest first */
const kUnits = [['days', 24], ['hours', 1], ['minutes', 1 / 60], ['seconds', 1 / 3600]];

/**
 * A logarithmic scale shows small values beside large ones. A linear one begins at 0 unless values are near each other.
 * @param {number[]} values
 * @param {[number, number]} range
 */
function scaleOf(values, range) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (most > 6 * least) return logarithmic([least / 1.15, most * 1.15], range, 10);
  const beside = 0.08 * (most - least);
  return linear([most > 2 * least ? 0 : least - beside, most + beside], range, 6);
}

/** @param {import('./scale.js').Scale} scale */
function words({ticks}) {
  const places = Math.max(0, ...ticks.slice(1).map((tick, i) => placesOf(tick - ticks[i])));
  return (/** @type {number} */ value) => fixed(value, places);
}

/** @param {Candidate[]} candidates the cheapest first @param {number} width */
function plot(candidates, width) {
  const height = 320;
  const box = {left: 62, right: width - 14, top: 24, bottom: height - 42};
  const longest = Math.max(...candidates.map(({usd, usdPerHour}) => usd.high / usdPerHour));
  const [unit, hours] = kUnits.find(([, each]) => longest >= 2 * each) ?? kUnits[kUnits.length - 1];
  const ends =
    candidates.flatMap(({usd, usdPerHour}) => [usd.low, usd.high].map((at) => [at / usdPerHour / hours, at]));
  const x = scaleOf(ends.map(([time]) => time), [box.left, box.right]);
  const y = scaleOf(ends.map(([, cost]) => cost), [box.bottom, box.top]);
  const into = picture(width, height);
  axes(into, box, x, y, {x: words(x), y: words(y), xTitle: `time, ${unit}`, yTitle: 'cost, USD'});
  const place = (/** @type {Candidate} */ {usdPerHour}, /** @type {number} */ usd) =>
    ({x: x.place(usd / usdPerHour / hours), y: y.place(usd)});
  const at = (/** @type {Candidate} */ candidate, /** @type {number} */ usd) => {
    const {x: left, y: top} = place(candidate, usd);
    return `${left.toFixed(1)} ${top.toFixed(1)}`;
  };
  const best = candidates.filter(({frontier}) => frontier);
  if (best.length > 1) into.append(path('frontier', `M${best.map((one) => at(one, one.usd.value)).join('L')}`));
  /** @type {{left: number, right: number, y: number}[]} */
  const taken = [];
  for (const one of [...best, ...candidates.filter(({frontier}) => !frontier)]) {
    const {low, value, high} = one.usd;
    // An error of the step changes time and cost by the same share: a line through the origin, curved on some axes.
    const steps = Array.from({length: 9}, (_, i) => at(one, low + (i / 8) * (high - low)));
    const {x: left, y: top} = place(one, value);
    const dot = svg('circle', {class: one.frontier ? 'best' : 'dominated', cx: left, cy: top, r: 4.5});
    const told = `${one.label}: ${grouped(digits(value, 4))} USD, ${digits(value / one.usdPerHour / hours, 3)} ${unit}`;
    dot.append(svg('title', {}, told));
    into.append(path(one.frontier ? 'spread best' : 'spread dominated', `M${steps.join('L')}`), dot);
    const wide = one.label.length * 6.8;
    // Below the dot, where neither its interval nor the frontier runs.
    const end = left + wide > width;
    const name = {left: end ? width - wide : left, right: end ? width : left + wide, y: top + 19};
    if (
      name.left < 0 ||
      taken.some((other) => Math.abs(other.y - name.y) < 14 && name.left < other.right && other.left < name.right))
      continue; // its tooltip and the bars below name it
    taken.push(name);
    into.append(label(one.label, end ? name.right : name.left, name.y, {anchor: end ? 'end' : 'start', kind: 'halo'}));
  }
  return into;
}

/** @param {Candidate[]} candidates the cheapest first */
export function frontierChart(candidates) {
  return chart((width) => plot(candidates, width), `Cost against time of ${candidates.length} candidates`);
}
