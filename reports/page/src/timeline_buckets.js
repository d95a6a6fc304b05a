// The lives of buckets on a timeline: ready, queued, waiting for ranks, on the wire; and arrows to their all-reduces.

import {kLife} from './timeline_layout.js';

/**
 * @typedef {import('documents').Bucket} Bucket
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./timeline_layout.js').Row} Row
 * @typedef {import('./timeline_paint.js').Drawing} Drawing
 * @typedef {{x: number, y: number}} Point
 */

// With more buckets, only the selected one has arrows.
const kFew = 12;

/** @param {Drawing} drawing @param {Row} row */
export function paintLives(drawing, row) {
  const {layout, view, selection} = drawing;
  const lives = layout.lives.get(row.group) ?? [];
  row.group.buckets.forEach((bucket, i) => {
    const y = row.top + lives[i] * kLife;
    if (y + kLife > row.top + row.height + 1 || bucket.end_us < view.from || bucket.ready_us > view.to) return;
    const own = selection !== null && selection.group === row.group && selection.bucket === bucket.index;
    paintLife(drawing, bucket, y, own);
  });
}

/**
 * @param {Drawing} drawing
 * @param {Bucket} bucket
 * @param {number} y
 * @param {boolean} own whether it is the selected one
 */
function paintLife({context, colours, at}, bucket, y, own) {
  const bar = (
    /** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ colour,
    /** @type {number} */ thick) => {
    if (to <= from) return;
    context.fillStyle = colour;
    context.fillRect(at(from), y + (kLife - thick) / 2, Math.max(1, at(to) - at(from)), thick);
  };
  const {ready_us: ready, start_us: start, last_arrival_us: arrived, end_us: end} = bucket;
  bar(ready, Math.max(ready, start), colours.queued, 2);
  bar(start, arrived, colours.waits, 4);
  const wire = bucket.exposed_because ? colours.exposed : colours.reduce;
  bar(Math.max(start, arrived), end, wire, own ? kLife - 1 : kLife - 3);
  context.fillStyle = colours.ink;
  context.fillRect(at(ready) - 0.75, y + 1, 1.5, kLife - 2);
  if (!own) return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.2;
  context.strokeRect(at(start), y + 0.5, Math.max(2, at(end) - at(start)), kLife - 1);
}

/**
 * Draws ready → launch → start → done of the selected bucket; if none is selected and there are few, of all.
 * @param {Drawing} drawing
 * @param {Group} group
 */
export function paintArrows(drawing, group) {
  const {context, layout, view, selection} = drawing;
  const rowOf = (/** @type {string} */ track) =>
    layout.rows.find((row) => row.group === group && row.lane?.track === track);
  const rows = {host: rowOf('host'), compute: rowOf('compute'), communication: rowOf('communication')};
  const selected = selection && selection.group === group ? selection.bucket : null;
  for (const bucket of group.buckets) {
    const strong = selected === bucket.index;
    if (!strong && (selected !== null || group.buckets.length > kFew)) continue;
    if (bucket.end_us < view.from && bucket.launch_us < view.from) continue;
    context.globalAlpha = strong ? 1 : 0.55;
    paintArrowsOf(drawing, bucket, rows, strong);
    context.globalAlpha = 1;
  }
}

/**
 * @param {Drawing} drawing
 * @param {Bucket} bucket
 * @param {Record<'host' | 'compute' | 'communication', Row | undefined>} rows
 * @param {boolean} strong the selected bucket's: with its launch and its end
 */
function paintArrowsOf({context, colours, at}, bucket, {host, compute, communication}, strong) {
  if (!compute || !communication) return;
  const launch = host && strong ? {x: at(bucket.launch_us), y: host.top + host.height} : null;
  const ready = {x: at(bucket.ready_us), y: compute.top + compute.height};
  const start = {x: at(bucket.start_us), y: communication.top};
  context.strokeStyle = context.fillStyle = colours.mark;
  context.lineWidth = strong ? 1.6 : 1;
  if (launch) arrow(context, launch, start, true);
  arrow(context, ready, start, false);
  dot(context, {x: ready.x, y: ready.y - 1}, strong ? 3 : 2);
  if (launch) dot(context, {x: launch.x, y: launch.y - 2}, 3);
  if (!strong) return;
  const done = at(bucket.end_us);
  context.beginPath();
  context.moveTo(done, communication.top - 3);
  context.lineTo(done, communication.top + communication.height + 3);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {Point} at @param {number} radius */
function dot(context, {x, y}, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} from
 * @param {Point} to
 * @param {boolean} dashed
 */
function arrow(context, from, to, dashed) {
  const head = 4;
  context.setLineDash(dashed ? [4, 3] : []);
  context.beginPath();
  context.moveTo(from.x, from.y);
  context.lineTo(to.x, to.y - head);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - head, to.y - head - 2);
  context.lineTo(to.x + head, to.y - head - 2);
  context.fill();
}
