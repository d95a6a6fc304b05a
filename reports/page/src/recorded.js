// The recorded job's all-reduces and the predicted ones.

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
    title: 'Recorded and predicted all-reduces',
    about: recorded.comparable
      ? `Recorded: ${time(recorded.all_reduce_us)} in total; predicted: ${time(recorded.predicted_us)}. ` +
        `Whiskers: shortest to longest recorded time${alone ? '' : ', including the wait for the last rank'}.`
      : `Recorded on ${recorded.ranks} GPUs, which is another job than this one: the times need not agree.`,
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
            tone: bucket.inside || !recorded.comparable ? 'reduce' : 'bad',
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
        {title: 'predicted within range', text: true},
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
