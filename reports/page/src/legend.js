// What colours and stripes mean: of what is there alone.

import {html} from './dom.js';

/** @typedef {import('./timeline_model.js').Group} Group */

const kWords = /** @type {Record<string, string>} */ ({
  forward: 'forward',
  backward: 'backward',
  copies: 'DDP’s copies',
  optimizer: 'optimizer',
  other: 'other work',
  reduce: 'all-reduce (number: its bucket)',
  exposed: 'waits for communication',
  waits: 'waits for launch or ranks',
  host: 'host',
});

// Of a step without buckets.
const kOfSchemes = /** @type {Record<string, string>} */ ({
  copies: 'copies and casts',
  reduce: 'collective',
});

/** @param {Group[]} groups */
export function legend(groups) {
  const words = groups.some((group) => group.buckets.length) ? kWords : {...kWords, ...kOfSchemes};
  const there = new Set(groups.flatMap((group) => group.lanes.flatMap((lane) => lane.marks.map((mark) => mark.kind))));
  const list = html('ul', {class: 'legend', 'aria-label': 'Legend'});
  for (const [kind, word] of Object.entries(words))
    if (there.has(/** @type {any} */ (kind))) list.append(html('li', {}, html('i', {class: `swatch ${kind}`}), word));
  if (groups.some((group) => group.buckets.length))
    list.append(html('li', {}, html('i', {class: 'swatch ready'}), 'a bucket is ready; thin: it queues'));
  return list;
}
