// One lane of a timeline: its spans, with their names where there is room.

import {kBold} from './timeline_style.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_layout.js').Row} Row
 * @typedef {import('./timeline_paint.js').Drawing} Drawing
 */

/**
 * Index of the first mark that may end after `from`. Marks begin in order, and few overlap.
 * @param {Mark[]} marks
 * @param {number} from
 */
function firstVisible(marks, from) {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks[middle].start < from)
      low = middle + 1;
    else
      high = middle;
  }
  // Earlier marks may reach in; at most 64 overlap.
  return Math.max(0, low - 64);
}

/** @param {Drawing} drawing @param {Row} row */
export function paintLane(drawing, row) {
  const {view, at} = drawing;
  const marks = row.lane?.marks ?? [];
  // A column of pixels is painted once by each kind: what is narrower cannot be seen anyway.
  /** @type {Map<string, number>} */
  const painted = new Map();
  let named = false;
  for (let i = firstVisible(marks, view.from); i < marks.length && marks[i].start <= view.to; ++i) {
    const mark = marks[i];
    if (mark.end < view.from) continue;
    const x = at(mark.start);
    const wide = at(mark.end) - x;
    if (wide < 0.7) {
      const column = Math.floor(x);
      if (painted.get(mark.kind) === column) continue;
      painted.set(mark.kind, column);
    }
    const dim = paintMark(drawing, row, mark, x, wide);
    if (row.height < 20 || wide < 12) continue;
    if (nameMark(drawing, row, mark, dim) && mark.kind === 'backward') named = true;
  }
  if (!named && row.height >= 20) nameBackward(drawing, row);
}

/**
 * @param {Drawing} drawing
 * @param {Row} row
 * @param {Mark} mark
 * @param {number} x
 * @param {number} wide
 * @returns {boolean} whether it is dimmed: another bucket's all-reduce is selected
 */
function paintMark({context, selection, colours, fill}, {group, top, height}, mark, x, wide) {
  const among = selection !== null && selection.group.step === group.step && selection.bucket !== null;
  const own = among && mark.bucket === selection.bucket;
  const dim = among && !own && mark.kind === 'reduce';
  context.globalAlpha = dim ? 0.4 : 1;
  context.fillStyle = fill(mark.kind);
  // Neighbouring all-reduces get a gap, spans of compute do not.
  context.fillRect(x, top, Math.max(wide - (mark.kind === 'reduce' && wide > 3 ? 0.6 : 0), 0.8), height);
  context.globalAlpha = 1;
  const selected = selection?.mark === mark;
  if (selected || (own && height > 8 && mark.kind === 'reduce')) {
    context.strokeStyle = colours.ink;
    context.lineWidth = selected ? 2 : 1.2;
    context.strokeRect(x + 0.5, top + 0.5, Math.max(wide - 1, 1.5), height - 1);
  }
  return dim;
}

/** @param {Mark} mark */
function labelOf(mark) {
  if (mark.bucket !== null && mark.kind === 'reduce') return String(mark.bucket);
  if (mark.kind === 'exposed') return mark.bucket === null ? 'exposed' : `waits for ${mark.bucket}`;
  return mark.name;
}

/**
 * @param {Drawing} drawing
 * @param {Row} row
 * @param {Mark} mark
 * @param {boolean} dim
 * @returns {boolean} whether there was room
 */
function nameMark({context, view, colours, at}, {top, height}, mark, dim) {
  const text = labelOf(mark);
  context.font = kBold;
  const begin = Math.max(at(mark.start), view.left);
  const end = Math.min(at(mark.end), view.width);
  const width = context.measureText(text).width;
  if (width + 6 > end - begin) return false;
  const middle = (begin + end) / 2;
  const striped = mark.kind === 'exposed' || mark.kind === 'waits';
  context.textAlign = 'center';
  if (striped) { // no text can be read on stripes
    const half = width / 2 + 3;
    context.fillStyle = colours.card;
    context.fillRect(middle - half, top + height / 2 - 8, half * 2, 16);
  }
  const light = ['forward', 'copies', 'optimizer', 'other'].includes(mark.kind);
  context.fillStyle = dim || striped ? colours.ink : colours[light ? 'on-forward' : 'on-backward'];
  context.fillText(text, middle, top + height / 2 + 0.5);
  return true;
}

/**
 * Backward is many spans, gradient by gradient, none of which may be wide enough for its name.
 * @param {Drawing} drawing
 * @param {Row} row
 */
function nameBackward({context, view, colours, at}, row) {
  const seen = (/** @type {Mark} */ mark) => mark.kind === 'backward' && mark.end > view.from && mark.start < view.to;
  const marks = (row.lane?.marks ?? []).filter(seen);
  if (!marks.length) return;
  const begin = Math.max(view.left, at(marks[0].start));
  const end = Math.min(view.width, at(marks[marks.length - 1].end));
  const half = context.measureText('backward').width / 2 + 5;
  if (end - begin < 2 * half) return;
  const middle = (begin + end) / 2;
  context.font = kBold;
  context.textAlign = 'center';
  context.fillStyle = colours.backward;
  context.fillRect(middle - half, row.top + 5, 2 * half, row.height - 10);
  context.fillStyle = colours['on-backward'];
  context.fillText('backward', middle, row.top + row.height / 2 + 0.5);
}

/**
 * The selected bucket's all-reduce on a thin lane.
 * @param {Drawing} drawing
 * @param {Row} row
 */
export function outline({context, selection, colours, at}, row) {
  if (!selection || selection.bucket === null || selection.group.step !== row.group.step) return;
  if (row.lane?.track !== 'communication') return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.2;
  for (const mark of row.lane.marks) {
    if (mark.bucket !== selection.bucket) continue;
    context.strokeRect(at(mark.start), row.top, Math.max(1.5, at(mark.end) - at(mark.start)), row.height);
  }
}
