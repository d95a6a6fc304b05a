// The recorded job's own all-reduces beside those predicted for it.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {bytes, digits, milliseconds, time} from './units.js';

/** @typedef {import('documents').Recorded} Recorded */

/** @param {Recorded | null | undefined} recorded */
export function recordedCard(recorded) {
  if (!recorded?.buckets.length) return null;
  const most = Math.max(...recorded.buckets.flatMap((bucket) => [bucket.duration_us.max, bucket.predicted_us]));
  const alone = recorded.buckets[0].transfer_us !== null;
  return cardElement({
    title: 'Recorded all-reduces beside those predicted',
    about: recorded.comparable
      ? `Recorded ${time(recorded.all_reduce_us)} in all, predicted ${time(recorded.predicted_us)}. ` +
        `Whiskers: from the shortest to the longest recorded${alone ? '' : ', the wait for the last rank included'}.`
      : `Recorded on ${recorded.ranks} GPUs: another job than this, so the times need not agree.`,
    half: true,
    body: [
      barChart({
        domain: [0, most * 1.02],
        label: 'Predicted time of each all-reduce, with what was recorded as a whisker',
        bars: recorded.buckets.map((bucket, i) => {
          const {min, max} = bucket.duration_us;
          return {
            label: `bucket ${i}`,
            note: bytes(bucket.bytes),
            from: 0,
            to: bucket.predicted_us,
            low: min,
            high: max,
            tone: bucket.inside || !recorded.comparable ? 'reduce' : 'exposed',
            text: `${time(bucket.predicted_us)}`
          };
        }),
      }),
    ],
    table: {
      file: 'recorded',
      columns: [
        {title: 'bucket'},
        {title: 'size', unit: 'MiB', show: (value) => digits(Number(value), 3)},
        {title: 'shortest', unit: 'ms', show: milliseconds.show},
        {title: 'median', unit: 'ms', show: milliseconds.show},
        {title: 'longest', unit: 'ms', show: milliseconds.show},
        {title: 'predicted', unit: 'ms', show: milliseconds.show},
        {title: 'inside', text: true},
      ],
      rows: recorded.buckets.map((bucket, i) => {
        const {min, median, max} = bucket.duration_us;
        return [
          i, bucket.bytes / 2 ** 20, milliseconds.of(min), milliseconds.of(median), milliseconds.of(max),
          milliseconds.of(bucket.predicted_us), bucket.inside ? 'yes' : 'no'
        ];
      }),
    },
  });
}
