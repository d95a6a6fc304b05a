// Buckets in launch order: when each is ready, launched, started and done, and why it is exposed.

import {cardElement} from './card.js';
import {html} from './dom.js';
import {digits, milliseconds} from './units.js';

/** @typedef {import('documents').SimulateResult} SimulateResult */

/** @param {SimulateResult} result @param {string} title @param {(index: number) => void} [select] shows one in the timeline */
export function bucketCard(result, title, select) {
  if (!result.buckets.length) return null;
  const {show} = milliseconds;
  return cardElement({
    title,
    about: 'In launch order. Times count from the start of the forward pass.',
    tableShown: true,
    body: [],
    table: {
      file: 'buckets',
      columns: [
        {title: 'bucket'},
        {title: 'size', unit: 'MiB', show: (value) => digits(Number(value), 3)},
        {title: 'gradients'},
        {title: 'ready', unit: 'ms', show},
        {title: 'launched', unit: 'ms', show},
        {title: 'start', unit: 'ms', show},
        {title: 'last rank arrives', unit: 'ms', show},
        {title: 'done', unit: 'ms', show},
        {title: 'transfer', unit: 'ms', show},
        {title: 'NCCL', text: true},
        {title: 'closed by', text: true},
        {title: 'exposed, and why', text: true, long: true},
      ],
      rows: result.buckets.map(
        (bucket) =>
          [bucket.index, bucket.bytes / 2 ** 20, bucket.parameter_indices.length, milliseconds.of(bucket.ready_us),
           milliseconds.of(bucket.launch_us), milliseconds.of(bucket.start_us), milliseconds.of(bucket.last_arrival_us),
           milliseconds.of(bucket.end_us),
           milliseconds.of(bucket.end_us - Math.max(bucket.start_us, bucket.last_arrival_us)),
           bucket.algorithm ? `${bucket.algorithm} ${bucket.protocol} ×${bucket.channels}` : '', bucket.closed_by,
           bucket.exposed_because ?? 'hidden']),
    },
    eachRow: (row, index) => {
      const bucket = result.buckets[index];
      if (bucket.exposed_because) row.classList.add('exposed');
      const first = row.firstElementChild;
      if (select && first)
        first.replaceChildren(html(
          'button', {
            type: 'button',
            class: 'link',
            'aria-label': `Show bucket ${bucket.index} in the timeline`,
            onclick: () => select(bucket.index)
          },
          String(bucket.index)));
    },
  });
}
