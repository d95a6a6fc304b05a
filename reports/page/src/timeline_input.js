// A timeline by pointer, wheel and keys: drag, pinch, point, select, zoom.

import {hit} from './timeline_hit.js';
import {time} from './units.js';

/**
 * @typedef {import('./timeline_paint.js').Selection} Selection
 *
 * @typedef {object} Controlled the timeline that is controlled
 * @property {HTMLElement} stage
 * @property {HTMLCanvasElement} canvas
 * @property {HTMLElement} tip
 * @property {import('./timeline_view.js').TimelineView} view
 * @property {import('./timeline_layout.js').Layout} layout
 * @property {(selection: Selection | null) => void} select
 * @property {(by: number) => void} selectNext
 */

/** @param {Controlled} timeline */
export function listen(timeline) {
  listenToPointers(timeline);
  listenToWheel(timeline);
  listenToKeys(timeline);
}

/** @param {Controlled} timeline @param {number} clientX */
function usUnder({canvas, view}, clientX) {
  return view.usAt(clientX - canvas.getBoundingClientRect().left);
}

/** @param {Controlled} timeline @param {MouseEvent} event */
function hitBy(timeline, event) {
  const y = event.clientY - timeline.canvas.getBoundingClientRect().top;
  return hit(timeline.layout, y, usUnder(timeline, event.clientX), 4 * timeline.view.usPerPixel);
}

/** @param {Controlled} timeline */
function listenToPointers(timeline) {
  const {stage, view, tip} = timeline;
  /** @type {Map<number, {x: number, y: number}>} */
  const pointers = new Map();
  let moved = 0;
  stage.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    stage.setPointerCapture(event.pointerId);
    moved = 0;
  });
  stage.addEventListener('pointermove', (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(timeline, event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    moved += Math.abs(event.clientX - before.x);
    if (other) {
      const was = Math.abs(before.x - other.x);
      const is = Math.abs(event.clientX - other.x);
      if (was > 10 && is > 10) view.zoom(was / is, usUnder(timeline, (event.clientX + other.x) / 2));
    } else if (moved > 3) {
      tip.hidden = true;
      const us = (event.clientX - before.x) * view.usPerPixel;
      view.show(view.from - us, view.to - us);
    }
    pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  const release = (/** @type {PointerEvent} */ event) => {
    const own = pointers.delete(event.pointerId);
    if (own && moved <= 3 && event.type === 'pointerup') timeline.select(hitBy(timeline, event));
  };
  stage.addEventListener('pointerup', release);
  stage.addEventListener('pointercancel', release);
  stage.addEventListener('pointerleave', () => (tip.hidden = true));
}

/** @param {Controlled} timeline @param {PointerEvent} event */
function hover(timeline, event) {
  const {stage, tip} = timeline;
  const over = event.pointerType === 'mouse' ? hitBy(timeline, event) : null;
  stage.classList.toggle('over', Boolean(over));
  tip.hidden = !over;
  if (!over || !tip.parentElement) return;
  tip.textContent = shortly(over);
  const card = tip.parentElement.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - card.left + 14, card.width - tip.offsetWidth - 8)}px`;
  tip.style.top = `${event.clientY - card.top + 16}px`;
}

/** @param {Selection} of */
function shortly({mark, bucket}) {
  if (!mark) return `bucket ${bucket}`;
  return `${mark.name}${mark.bucket === null ? '' : `, bucket ${mark.bucket}`}: ${time(mark.end - mark.start)}`;
}

/** @param {Controlled} timeline */
function listenToWheel(timeline) {
  const {stage, view} = timeline;
  const turned = (/** @type {WheelEvent} */ event) => {
    // Without Ctrl the wheel scrolls the page; sideways it moves through the step.
    if (event.ctrlKey || event.metaKey) {
      const notches = Math.max(-60, Math.min(60, event.deltaY)) / 60;
      view.zoom(2 ** notches, usUnder(timeline, event.clientX));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      view.pan(event.deltaX / 600);
    } else {
      return;
    }
    event.preventDefault();
  };
  stage.addEventListener('wheel', turned, {passive: false});
  stage.addEventListener('dblclick', (event) => view.zoom(0.4, usUnder(timeline, event.clientX)));
}

/** @param {Controlled} timeline */
function listenToKeys(timeline) {
  const {view} = timeline;
  const keys = /** @type {Record<string, () => void>} */ ({
    ArrowLeft: () => view.pan(-0.15),
    ArrowRight: () => view.pan(0.15),
    '+': () => view.zoom(0.6),
    '=': () => view.zoom(0.6),
    '-': () => view.zoom(1 / 0.6),
    0: () => view.fit(),
    Home: () => view.show(view.step.begin, view.step.begin + view.to - view.from),
    End: () => view.show(view.step.whole - (view.to - view.from), view.step.whole),
    n: () => timeline.selectNext(1),
    p: () => timeline.selectNext(-1),
    Escape: () => timeline.select(null),
  });
  timeline.stage.addEventListener('keydown', (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });
}
