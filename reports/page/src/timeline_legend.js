// What the colours and stripes of a timeline mean, of those that are there.

import {legendList} from './legend.js';

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
export function timelineLegend(groups) {
  const buckets = groups.some((group) => group.buckets.length);
  const words = buckets ? kWords : {...kWords, ...kOfSchemes};
  /** @type {Set<string>} */
  const there = new Set(groups.flatMap((group) => group.lanes.flatMap((lane) => lane.marks.map((mark) => mark.kind))));
  const entries = Object.entries(words).filter(([kind]) => there.has(kind));
  if (buckets) entries.push(['ready', 'a bucket is ready; thin: it queues']);
  return legendList(entries);
}
