// A timeline on a canvas: tens of thousands of spans, as fast as they can be dragged.

import {paintDense} from './timeline_dense.js';
import {fixed, timeUnit} from './units.js';
import {linear, placesOf} from './scale.js';
import {kAxis, kLife} from './timeline_layout.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./timeline_model.js').Bucket} Bucket
 * @typedef {import('./timeline_layout.js').Layout} Layout
 * @typedef {import('./timeline_layout.js').Row} Row
 *
 * @typedef {object} Selection
 * @property {Group} group
 * @property {number | null} bucket
 * @property {Mark | null} mark
 *
 * @typedef {object} View
 * @property {number} from
 * @property {number} to
 * @property {number} left where time begins on the canvas
 * @property {number} width of the whole canvas
 *
 * @typedef {Record<string, string>} Colours
 */

const kFont = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const kBold = `600 ${kFont}`;

const kNames = [
  'ink', 'mute', 'line', 'card', 'forward', 'backward', 'copies', 'optimizer', 'reduce', 'host', 'waits', 'exposed',
  'other', 'on-forward', 'on-backward', 'on-reduce', 'on-exposed', 'queued', 'mark'
];

/** @param {Element} element @returns {Colours} */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(kNames.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * Stripes tell what is waited for from what is done, without colour.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {string} paper
 */
function stripes(context, colour, paper) {
  const size = 7;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const draw = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
  draw.fillStyle = colour;
  draw.fillRect(0, 0, size, size);
  draw.strokeStyle = paper;
  draw.lineWidth = 1.6;
  draw.beginPath();
  for (const shift of [-size, 0, size]) {
    draw.moveTo(shift - 1, size + 1);
    draw.lineTo(shift + size + 1, -1);
  }
  draw.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}

/**
 * First mark that ends behind `from`; they begin in order, and few overlap.
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
  // What began earlier may reach in: at most so many at once.
  return Math.max(0, low - 64);
}

/** @param {Mark} mark */
function labelOf(mark) {
  if (mark.bucket !== null && mark.kind === 'reduce') return String(mark.bucket);
  if (mark.kind === 'exposed') return mark.bucket === null ? 'exposed' : `waits for ${mark.bucket}`;
  return mark.name;
}

/**
 * @param {CanvasRenderingContext2D} context scaled to CSS pixels
 * @param {Layout} layout
 * @param {View} view
 * @param {Selection | null} selection
 * @param {Colours} colours
 */
export function paint(context, layout, view, selection, colours) {
  const {left, width, from, to} = view;
  const height = layout.height;
  const scale = linear([from, to], [left, width - 1], Math.max(2, (width - left) / 110));
  const at = scale.place;
  context.clearRect(0, 0, width, height);
  context.textBaseline = 'middle';
  context.font = kFont;

  // The axis.
  const unit = timeUnit(to - from);
  const step = scale.ticks.length > 1 ? scale.ticks[1] - scale.ticks[0] : to - from;
  const places = placesOf(step / unit.us);
  context.fillStyle = colours.mute;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  let free = -Infinity;
  scale.ticks.forEach((tick) => {
    const x = Math.round(at(tick)) + 0.5;
    context.beginPath();
    context.moveTo(x, kAxis - 5);
    context.lineTo(x, height - 6);
    context.stroke();
    const text = `${fixed(tick / unit.us, Math.min(6, places))} ${unit.name}`;
    const half = context.measureText(text).width / 2;
    const middle = Math.min(width - half, Math.max(left - 6 + half, x));
    if (middle - half < free) return;
    free = middle + half + 8;
    context.textAlign = 'center';
    context.fillText(text, middle, 9);
  });

  const exposed = stripes(context, colours.exposed, colours.card);
  const waits = stripes(context, colours.waits, colours.card);
  /** @param {Mark['kind']} kind */
  const fill = (kind) => (kind === 'exposed' ? exposed : kind === 'waits' ? waits : colours[kind]);

  context.save();
  context.beginPath();
  context.rect(left, kAxis - 2, width - left, height);
  context.clip();
  const dense = layout.rows.filter((row) => row.lane && !row.label);
  paintDense(context, dense, view, at, colours);
  for (const row of layout.rows) {
    if (row.lane && !row.label)
      outline(context, row, at, colours, selection);
    else if (row.lane)
      paintLane(context, row, view, at, fill, colours, selection);
    else
      paintLives(context, row, layout, view, at, colours, selection);
  }
  for (const group of layout.lives.keys()) paintArrows(context, group, layout, at, selection, colours, view);
  context.restore();

  // Labels stand outside of time.
  context.textAlign = 'left';
  for (const row of layout.rows) {
    if (!row.label || (row.height < 9 && row.lane)) continue;
    context.font = kFont;
    context.fillStyle = colours.mute;
    context.fillText(
      row.label === 'communication' && left < 90 ? 'comm.' : row.label, 0,
      row.top + Math.min(row.height, row.lane ? 60 : 14) / 2);
  }
  for (const {group, top} of layout.titles) {
    const dense = !layout.rows.some((row) => row.group === group && row.label);
    context.font = dense ? kFont : kBold;
    context.fillStyle = dense ? colours.mute : colours.ink;
    const text = dense ? group.title.replace(/^.*, rank /, 'rank ').replace(/,.*$/, '') : group.title;
    context.fillText(text, 0, top + (dense ? 8 : 7));
  }
}

/**
 * The selected bucket's all-reduce on a thin lane.
 * @param {CanvasRenderingContext2D} context
 * @param {Row} row
 * @param {(us: number) => number} at
 * @param {Colours} colours
 * @param {Selection | null} selection
 */
function outline(context, row, at, colours, selection) {
  if (
    !selection || selection.bucket === null || selection.group.step !== row.group.step ||
    row.lane?.track !== 'communication')
    return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.2;
  for (const mark of row.lane.marks)
    if (mark.bucket === selection.bucket)
      context.strokeRect(at(mark.start), row.top, Math.max(1.5, at(mark.end) - at(mark.start)), row.height);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Row} row
 * @param {View} view
 * @param {(us: number) => number} at
 * @param {(kind: Mark['kind']) => string | CanvasPattern} fill
 * @param {Colours} colours
 * @param {Selection | null} selection
 */
function paintLane(context, row, view, at, fill, colours, selection) {
  const marks = row.lane?.marks ?? [];
  const {top, height} = row;
  // A column of pixels is painted once by each kind: what is narrower cannot be seen anyway.
  /** @type {Map<string, number>} */
  const painted = new Map();
  let told = false;
  for (let i = firstVisible(marks, view.from); i < marks.length && marks[i].start <= view.to; ++i) {
    const mark = marks[i];
    if (mark.end < view.from) continue;
    const x = at(mark.start);
    const right = at(mark.end);
    const wide = right - x;
    if (wide < 0.7) {
      const column = Math.floor(x);
      if (painted.get(mark.kind) === column) continue;
      painted.set(mark.kind, column);
    }
    const among = selection && selection.group.step === row.group.step && selection.bucket !== null;
    const of = among && mark.bucket === selection.bucket;
    const dim = among && !of && mark.kind === 'reduce';
    context.globalAlpha = dim ? 0.4 : 1;
    context.fillStyle = fill(mark.kind);
    // All-reduces touch and are many; what is computed is one stretch.
    context.fillRect(x, top, Math.max(wide - (mark.kind === 'reduce' && wide > 3 ? 0.6 : 0), 0.8), height);
    context.globalAlpha = 1;
    if (selection?.mark === mark || (of && height > 8 && mark.kind === 'reduce')) {
      context.strokeStyle = colours.ink;
      context.lineWidth = selection?.mark === mark ? 2 : 1.2;
      context.strokeRect(x + 0.5, top + 0.5, Math.max(wide - 1, 1.5), height - 1);
    }
    if (height < 20 || wide < 12) continue;
    const text = labelOf(mark);
    context.font = kBold;
    const begin = Math.max(x, view.left);
    const end = Math.min(right, view.width);
    if (context.measureText(text).width + 6 > end - begin) continue;
    context.textAlign = 'center';
    context.fillStyle = dim ? colours.ink
      : mark.kind === 'forward' || mark.kind === 'copies' || mark.kind === 'optimizer' || mark.kind === 'other'
      ? colours['on-forward']
      : mark.kind === 'exposed' || mark.kind === 'waits'
      ? colours.ink
      : colours['on-backward'];
    if (mark.kind === 'exposed' || mark.kind === 'waits') {
      const half = context.measureText(text).width / 2 + 3;
      context.fillStyle = colours.card;
      context.fillRect((begin + end) / 2 - half, top + height / 2 - 8, half * 2, 16);
      context.fillStyle = colours.ink;
    }
    context.fillText(text, (begin + end) / 2, top + height / 2 + 0.5);
    if (mark.kind === 'backward') told = true;
  }
  if (!told && height >= 20) nameBackward(context, row, view, at, colours);
}

/**
 * Backward is many spans, gradient by gradient, none of which may be wide enough for its name.
 * @param {CanvasRenderingContext2D} context
 * @param {Row} row
 * @param {View} view
 * @param {(us: number) => number} at
 * @param {Colours} colours
 */
function nameBackward(context, row, view, at, colours) {
  const marks =
    (row.lane?.marks ?? []).filter((mark) => mark.kind === 'backward' && mark.end > view.from && mark.start < view.to);
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
 * Ready, queued, waiting for ranks, on the wire.
 * @param {CanvasRenderingContext2D} context
 * @param {Row} row
 * @param {Layout} layout
 * @param {View} view
 * @param {(us: number) => number} at
 * @param {Colours} colours
 * @param {Selection | null} selection
 */
function paintLives(context, row, layout, view, at, colours, selection) {
  const lives = layout.lives.get(row.group) ?? [];
  row.group.buckets.forEach((bucket, i) => {
    const y = row.top + lives[i] * kLife;
    if (y + kLife > row.top + row.height + 1 || bucket.end_us < view.from || bucket.ready_us > view.to) return;
    const own = selection && selection.group === row.group && selection.bucket === bucket.index;
    const bar =
      (/** @type {number} */ from, /** @type {number} */ to, /** @type {string | CanvasPattern} */ colour,
       /** @type {number} */ thick) => {
        if (to <= from) return;
        context.fillStyle = colour;
        context.fillRect(at(from), y + (kLife - thick) / 2, Math.max(1, at(to) - at(from)), thick);
      };
    bar(bucket.ready_us, Math.max(bucket.ready_us, bucket.start_us), colours.queued, 2);
    bar(bucket.start_us, bucket.last_arrival_us, colours.waits, 4);
    bar(
      Math.max(bucket.start_us, bucket.last_arrival_us), bucket.end_us,
      bucket.exposed_because ? colours.exposed : colours.reduce, own ? kLife - 1 : kLife - 3);
    context.fillStyle = colours.ink;
    context.fillRect(at(bucket.ready_us) - 0.75, y + 1, 1.5, kLife - 2);
    if (own) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 1.2;
      context.strokeRect(at(bucket.start_us), y + 0.5, Math.max(2, at(bucket.end_us) - at(bucket.start_us)), kLife - 1);
    }
  });
}

/**
 * Of the selected bucket, or of few: ready → launch → start → done.
 * @param {CanvasRenderingContext2D} context
 * @param {Group} group
 * @param {Layout} layout
 * @param {(us: number) => number} at
 * @param {Selection | null} selection
 * @param {Colours} colours
 * @param {View} view
 */
function paintArrows(context, group, layout, at, selection, colours, view) {
  const few = 12;
  const own = layout.rows.filter((row) => row.group === group && row.lane);
  const [host, compute, communication] =
    ['host', 'compute', 'communication'].map((track) => own.find((row) => row.lane?.track === track));
  if (!compute || !communication) return;
  const selected = selection && selection.group === group ? selection.bucket : null;
  for (const bucket of group.buckets) {
    const strong = selected === bucket.index;
    if (!strong && (selected !== null || group.buckets.length > few)) continue;
    if (bucket.end_us < view.from && bucket.launch_us < view.from) continue;
    context.globalAlpha = strong ? 1 : 0.55;
    const launch = host ? {x: at(bucket.launch_us), y: host.top + host.height} : null;
    const ready = {x: at(bucket.ready_us), y: compute.top + compute.height};
    const start = {x: at(bucket.start_us), y: communication.top};
    context.strokeStyle = context.fillStyle = colours.mark;
    context.lineWidth = strong ? 1.6 : 1;
    if (launch && strong) arrow(context, launch, start, true);
    arrow(context, ready, start, false);
    context.beginPath();
    context.arc(ready.x, ready.y - 1, strong ? 3 : 2, 0, 7);
    context.fill();
    if (strong) {
      if (launch) {
        context.beginPath();
        context.arc(launch.x, launch.y - 2, 3, 0, 7);
        context.fill();
      }
      const done = {x: at(bucket.end_us), y: communication.top + communication.height};
      context.beginPath();
      context.moveTo(done.x, communication.top - 3);
      context.lineTo(done.x, done.y + 3);
      context.stroke();
    }
    context.globalAlpha = 1;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
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
