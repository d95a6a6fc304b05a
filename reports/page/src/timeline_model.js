// Steps as rows of a timeline: their lanes, the spans on them, and when the GPU waits for communication.

import {greatest, smallest} from './scale.js';

/**
 * @typedef {import('./envelope.js').Documents} Documents
 * @typedef {import('documents').Span} Span
 * @typedef {import('documents').Bucket} Bucket
 * @typedef {import('documents').Timeline} Timeline
 *
 * @typedef {'forward' | 'backward' | 'copies' | 'optimizer' | 'reduce' | 'host' | 'waits' | 'exposed' | 'other'} Kind
 *
 * @typedef {object} Mark what is drawn and can be selected
 * @property {Kind} kind
 * @property {string} name
 * @property {number | null} bucket
 * @property {number} start
 * @property {number} end
 * @property {Span['parameters']} [parameters]
 *
 * @typedef {object} Lane
 * @property {'host' | 'compute' | 'communication'} track
 * @property {Mark[]} marks by start
 *
 * @typedef {object} Group one rank of one step
 * @property {string} title
 * @property {string} step its step, within which marks of one bucket belong together
 * @property {boolean} first shown without being asked for
 * @property {Lane[]} lanes
 * @property {Bucket[]} buckets of this rank; empty for ranks without them
 * @property {number} end
 */

/** @param {Span} span @returns {Kind} */
export function kindOf({track, name}) {
  if (track === 'communication') return 'reduce';
  if (track === 'host') return 'host';
  if (name.startsWith('waits')) return 'waits';
  if (name.startsWith('forward')) return 'forward';
  if (name.startsWith('backward')) return 'backward';
  if (name.startsWith('optimizer')) return 'optimizer';
  return /cop|flatten|buffer|compress|divide|cast|hook/.test(name) ? 'copies' : 'other';
}

/**
 * Joined where they touch.
 * @param {[number, number][]} intervals
 * @returns {[number, number][]}
 */
export function union(intervals) {
  /** @type {[number, number][]} */
  const joined = [];
  for (const [start, end] of [...intervals].sort((a, b) => a[0] - b[0])) {
    const last = joined[joined.length - 1];
    if (last && start <= last[1])
      last[1] = Math.max(last[1], end);
    else
      joined.push([start, end]);
  }
  return joined;
}

/**
 * Exposed communication: nothing is computed while something is transferred.
 * @param {Mark[]} compute by start, including waits for anything but communication
 * @param {Mark[]} communication
 * @returns {Mark[]}
 */
export function exposures(compute, communication) {
  const busy = union(compute.map((mark) => [mark.start, mark.end]));
  /** @type {Mark[]} */
  const found = [];
  let reached = 0;
  for (const [start, end] of [...busy, /** @type {[number, number]} */ ([Infinity, Infinity])]) {
    for (const one of communication) {
      const from = Math.max(reached, one.start);
      const to = Math.min(start, one.end);
      // After the last compute nothing waits any more.
      if (to > from && start !== Infinity)
        found.push({
          kind: 'exposed',
          name: one.bucket === null ? `waits for ${one.name}` : `waits for bucket ${one.bucket}`,
          bucket: one.bucket,
          start: from,
          end: to
        });
    }
    reached = Math.max(reached, end);
  }
  return found.sort((a, b) => a.start - b.start);
}

/**
 * @param {Timeline['ranks'][number]} rank
 * @param {string} step
 * @param {boolean} first
 * @param {Bucket[]} buckets
 * @param {boolean} sole
 * @returns {Group}
 */
function groupOf(rank, step, first, buckets, sole) {
  /** @type {Record<string, Mark[]>} */
  const tracks = {host: [], compute: [], communication: []};
  for (const span of rank.spans)
    tracks[span.track]?.push({
      kind: kindOf(span),
      name: span.name,
      bucket: span.bucket,
      start: span.start_us,
      end: span.end_us,
      parameters: span.parameters
    });
  for (const marks of Object.values(tracks)) marks.sort((a, b) => a.start - b.start);
  const waiting = exposures(tracks.compute, tracks.communication);
  tracks.compute = [...tracks.compute, ...waiting].sort((a, b) => a.start - b.start);
  const gpu = rank.gpu ? `, ${rank.gpu} GPU` : '';
  const end = greatest(0, [...tracks.compute, ...tracks.communication].map((mark) => mark.end));
  return {
    title: sole ? `${step}${gpu}` : `${step}, rank ${rank.rank}${gpu}`,
    step,
    first,
    lanes: [
      {track: 'host', marks: tracks.host},
      {track: 'compute', marks: tracks.compute},
      {track: 'communication', marks: tracks.communication},
    ],
    buckets,
    end,
  };
}

/** @param {Timeline | undefined} timeline @param {string} step @param {Bucket[]} buckets rank 0's */
function groupsOf(timeline, step, buckets) {
  if (!timeline) return [];
  const sole = timeline.ranks.length === 1;
  return timeline.ranks.map((rank, i) => groupOf(rank, step, i === 0, rank.rank === 0 ? buckets : [], sole));
}

/**
 * Measured and recorded steps stand above predicted ones; the recommended step below the current one.
 * @param {Documents} documents
 * @returns {Group[]}
 */
function timelineGroups(documents) {
  const current = documents.recommended_timeline ? 'current' : 'simulated';
  return [
    ...groupsOf(documents.measured_timeline, 'measured', []),
    ...groupsOf(documents.recorded_timeline, 'recorded', []),
    ...groupsOf(documents.timeline, current, documents.result?.buckets ?? []),
    ...groupsOf(documents.recommended_timeline, 'recommended', documents.recommended_result?.buckets ?? []),
  ].filter((group) => group.lanes.some((lane) => lane.marks.length));
}

/**
 * @typedef {object} Steps what a timeline shows
 * @property {Group[]} all
 * @property {Group[]} few those shown without being asked for
 * @property {number} length of the longest step
 * @property {number} begin first instant
 * @property {number} whole last instant, and a little more: what ends last must not stand at the very edge
 *
 * @param {Documents} documents
 * @returns {Steps}
 */
export function timelineSteps(documents) {
  const all = timelineGroups(documents);
  const few = all.filter((group) => group.first || all.length <= 3);
  const length = greatest(documents.result?.iteration_us ?? 0, all.map((group) => group.end));
  const lanes = all.flatMap((group) => group.lanes.filter((lane) => lane.marks.length));
  const begin = smallest(0, lanes.map((lane) => lane.marks[0].start));
  return {all, few, length, begin, whole: length * 1.005};
}

/**
 * Puts each bucket into the first free row, so that lives do not overlap.
 * @param {Bucket[]} buckets
 * @returns {number[]} a row for each
 */
export function bucketRows(buckets) {
  /** @type {number[]} */
  const free = [];
  const rows = new Array(buckets.length).fill(0);
  buckets.forEach((bucket, i) => {
    const from = Math.min(bucket.ready_us, bucket.start_us);
    let row = free.findIndex((until) => until <= from);
    if (row < 0) row = free.length;
    free[row] = bucket.end_us;
    rows[i] = row;
  });
  return rows;
}
