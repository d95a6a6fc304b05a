// Bars beside names: one row each, with an interval as a whisker.

import {html} from './dom.js';
import {name} from './names.js';

/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {string} [note] small, below the label
 * @property {number} from
 * @property {number} to
 * @property {number} [low] of the whisker
 * @property {number} [high]
 * @property {string} tone class of its colour
 * @property {string} text the value, with its unit
 * @property {boolean} [strong]
 * @property {{size: number, tone: string}[]} [parts] stacked, in place of one colour
 *
 * @typedef {object} Bars
 * @property {Bar[]} bars
 * @property {[number, number]} domain
 * @property {number} [zero] place of a vertical line
 * @property {string} label describes the chart in a sentence
 */

/** @param {Bars} bars */
export function barChart({bars, domain: [least, most], zero, label}) {
  const share = (/** @type {number} */ value) =>
    (100 * (Math.min(most, Math.max(least, value)) - least)) / (most - least || 1);
  const chart = html('div', {class: 'bars', role: 'img', 'aria-label': label});
  for (const bar of bars) {
    const track = html('div', {class: 'track'});
    const put = (/** @type {string} */ className, /** @type {number} */ from, /** @type {number} */ to) => {
      const part = html('i', {class: className});
      part.style.left = `${share(Math.min(from, to))}%`;
      part.style.width = `${Math.abs(share(to) - share(from))}%`;
      track.append(part);
    };
    if (zero !== undefined) put('zero', zero, zero);
    if (bar.parts) {
      let reached = bar.from;
      for (const part of bar.parts) {
        put(`bar ${part.tone}`, reached, reached + part.size);
        reached += part.size;
      }
    } else {
      put(`bar ${bar.tone}`, bar.from, bar.to);
    }
    if (bar.low !== undefined && bar.high !== undefined) put('whisker', bar.low, bar.high);
    chart.append(html(
      'div', {class: bar.strong ? 'row strong' : 'row'},
      html('div', {class: 'name'}, name(bar.label, 90), bar.note && html('small', {}, name(bar.note, 140))), track,
      html('div', {class: 'figure'}, bar.text)));
  }
  return chart;
}
