// The whole step in small, with the visible part marked. A click moves there.

import {html} from './dom.js';

/** @typedef {import('./timeline_view.js').TimelineView} TimelineView */

const kHeight = 16;

/** @param {TimelineView} view */
export function overviewOf(view) {
  const canvas = html('canvas', {class: 'overview', 'aria-hidden': 'true'});
  const toCentre = (/** @type {PointerEvent} */ event) => {
    const {begin, whole} = view.step;
    const x = event.clientX - canvas.getBoundingClientRect().left;
    view.centre(begin + ((x - view.left) / (view.width - view.left)) * (whole - begin));
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    toCentre(event);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) toCentre(event);
  });
  return canvas;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {TimelineView} view
 * @param {Record<string, string>} colours
 * @param {number} ratio pixels of the canvas for each of CSS
 */
export function drawOverview(canvas, view, colours, ratio) {
  const {begin, whole} = view.step;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = kHeight * ratio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const at = (/** @type {number} */ us) => view.left + ((us - begin) / (whole - begin)) * (view.width - view.left);
  context.fillStyle = colours.line;
  context.fillRect(view.left, 7, view.width - view.left, 3);
  if (view.seesWhole) return;
  context.fillStyle = colours.mute;
  context.fillRect(at(view.from), 4, Math.max(4, at(view.to) - at(view.from)), 9);
}
