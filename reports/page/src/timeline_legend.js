// What the colours and stripes of a timeline mean. Only those that occur are listed.

import {legendList} from './legend.js';

/** @typedef {import('./timeline_model.js').Group} Group */

const kWords = /** @type {Record<string, string>} */ ({
  forward: 'forward',
  backward: 'backward',
  copies: 'DDP’s copies',
  optimizer: 'optimizer',
  other: 'other work',
  reduce: 'all-reduce (with its bucket number)',
  exposed: 'waits for communication',
  waits: 'waits for launch or ranks',
  host: 'host',
});

// Words of a step without buckets.
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
  if (buckets) entries.push(['ready', 'bucket ready (thin line: queued)']);
  return legendList(entries);
}
