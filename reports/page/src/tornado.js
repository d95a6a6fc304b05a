// How much each source of uncertainty may change the step, the largest first.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {decimals, fixed, milliseconds, percent, signed, timeUnit} from './units.js';

/** @typedef {import('./envelope.js').JobAnswer} JobAnswer */

/** @param {JobAnswer} asked @param {Record<string, string>} sources */
export function tornadoCard({sensitivities = [], confidence}, sources) {
  const rows = sensitivities.filter((one) => one.low_us < 0 || one.high_us > 0);
  if (!rows.length) return null;
  const widest = Math.max(...rows.flatMap((one) => [-one.low_us, one.high_us]));
  const unit = timeUnit(widest);
  const places = decimals(widest / unit.us, 3);
  const shown = (/** @type {number} */ us) => signed(us, (value) => fixed(value / unit.us, places));
  const [low, high] = confidence.interval_percent;
  return cardElement({
    title: 'Sources of uncertainty',
    about: 'How much shorter or longer each of them may make the step. ' +
      `All together: ${signed(low, percent)} to ${signed(high, percent)} (80 % interval).`,
    half: true,
    body: [
      barChart({
        domain: [-widest * 1.03, widest * 1.03],
        zero: 0,
        label: `How much each of ${rows.length} sources of uncertainty may change the step`,
        bars: rows.map(
          (one) => ({
            label: sources[one.source] ?? one.source,
            from: one.low_us,
            to: one.high_us,
            tone: '',
            text: `${shown(one.low_us)} to ${shown(one.high_us)} ${unit.name}`,
            parts: [
              {size: -one.low_us, tone: 'shorter'},
              {size: one.high_us, tone: 'longer'},
            ],
          })),
      }),
    ],
    table: {
      file: 'uncertainty',
      columns: [
        {title: 'source', text: true},
        {title: 'shorter by', unit: 'ms', show: milliseconds.show},
        {title: 'longer by', unit: 'ms', show: milliseconds.show},
      ],
      rows: rows.map(
        (one) => [sources[one.source] ?? one.source, milliseconds.of(-one.low_us), milliseconds.of(one.high_us)]),
    },
  });
}
