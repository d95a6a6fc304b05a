// A timeline on a canvas: tens of thousands of spans, as fast as they can be dragged.

import {linear, placesOf} from './scale.js';
import {paintArrows, paintLives} from './timeline_buckets.js';
import {paintDense} from './timeline_dense.js';
import {outline, paintLane} from './timeline_lane.js';
import {kAxis} from './timeline_layout.js';
import {kBold, kFont, stripes} from './timeline_style.js';
import {fixed, timeUnit} from './units.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./timeline_layout.js').Layout} Layout
 * @typedef {import('./timeline_style.js').Colours} Colours
 * @typedef {import('./scale.js').Scale} Scale
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
 * @typedef {object} Drawing what everything that paints is given
 * @property {CanvasRenderingContext2D} context scaled to CSS pixels
 * @property {Layout} layout
 * @property {View} view
 * @property {Selection | null} selection
 * @property {Colours} colours
 * @property {(us: number) => number} at where an instant stands
 * @property {(kind: Mark['kind']) => string | CanvasPattern} fill
 */

/**
 * @param {CanvasRenderingContext2D} context scaled to CSS pixels
 * @param {Layout} layout
 * @param {View} view
 * @param {Selection | null} selection
 * @param {Colours} colours
 */
export function paint(context, layout, view, selection, colours) {
  const {left, width, from, to} = view;
  const scale = linear([from, to], [left, width - 1], Math.max(2, (width - left) / 110));
  const exposed = stripes(context, colours.exposed, colours.card);
  const waits = stripes(context, colours.waits, colours.card);
  const patterns = /** @type {Record<string, string | CanvasPattern>} */ ({...colours, exposed, waits});
  const drawing =
    {context, layout, view, selection, colours, at: scale.place, fill: (/** @type {string} */ kind) => patterns[kind]};
  context.clearRect(0, 0, width, layout.height);
  context.textBaseline = 'middle';
  context.font = kFont;
  paintAxis(drawing, scale);
  context.save();
  context.beginPath();
  context.rect(left, kAxis - 2, width - left, layout.height);
  context.clip();
  paintRows(drawing);
  context.restore();
  paintLabels(drawing);
}

/** @param {Drawing} drawing @param {Scale} scale of time */
function paintAxis({context, layout, view: {left, width, from, to}, colours}, scale) {
  const unit = timeUnit(to - from);
  const step = scale.ticks.length > 1 ? scale.ticks[1] - scale.ticks[0] : to - from;
  const places = placesOf(step / unit.us);
  context.fillStyle = colours.mute;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  let free = -Infinity;
  scale.ticks.forEach((tick) => {
    const x = Math.round(scale.place(tick)) + 0.5;
    context.beginPath();
    context.moveTo(x, kAxis - 5);
    context.lineTo(x, layout.height - 6);
    context.stroke();
    const text = `${fixed(tick / unit.us, Math.min(6, places))} ${unit.name}`;
    const half = context.measureText(text).width / 2;
    const middle = Math.min(width - half, Math.max(left - 6 + half, x));
    if (middle - half < free) return;
    free = middle + half + 8;
    context.textAlign = 'center';
    context.fillText(text, middle, 9);
  });
}

/** @param {Drawing} drawing */
function paintRows(drawing) {
  const {layout} = drawing;
  paintDense(drawing, layout.rows.filter((row) => row.lane && !row.label));
  for (const row of layout.rows) {
    if (row.lane && !row.label)
      outline(drawing, row);
    else if (row.lane)
      paintLane(drawing, row);
    else
      paintLives(drawing, row);
  }
  for (const group of layout.lives.keys()) paintArrows(drawing, group);
}

/**
 * Labels stand outside of time: of lanes, and of groups above their lanes.
 * @param {Drawing} drawing
 */
function paintLabels({context, layout, view, colours}) {
  context.textAlign = 'left';
  for (const row of layout.rows) {
    if (!row.label || (row.height < 9 && row.lane)) continue;
    context.font = kFont;
    context.fillStyle = colours.mute;
    const text = row.label === 'communication' && view.left < 90 ? 'comm.' : row.label;
    context.fillText(text, 0, row.top + Math.min(row.height, row.lane ? 60 : 14) / 2);
  }
  for (const {group, top} of layout.titles) {
    const dense = !layout.rows.some((row) => row.group === group && row.label);
    context.font = dense ? kFont : kBold;
    context.fillStyle = dense ? colours.mute : colours.ink;
    const text = dense ? group.title.replace(/^.*, rank /, 'rank ').replace(/,.*$/, '') : group.title;
    context.fillText(text, 0, top + (dense ? 8 : 7));
  }
}
