// The frame of a chart in SVG: its axes and its grid. The chart is drawn again whenever its width changes.

import {html, svg} from './dom.js';
import {thinned} from './scale.js';
import {grouped} from './units.js';

/**
 * @typedef {import('./scale.js').Scale} Scale
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 */

/**
 * Draws again whenever its width changes.
 * @param {(width: number) => SVGSVGElement} draw
 * @param {string} label what it shows, in a sentence
 */
export function chart(draw, label) {
  const stage = html('div', {class: 'chart'});
  let drawn = 0;
  const render = () => {
    const width = Math.max(260, Math.floor(stage.clientWidth || 640));
    if (width === drawn) return;
    drawn = width;
    const picture = draw(width);
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', label);
    stage.replaceChildren(picture);
  };
  new ResizeObserver(render).observe(stage);
  return stage;
}

/** @param {number} width @param {number} height */
export function picture(width, height) {
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height});
}

/** @param {string} className @param {string} d */
export function path(className, d) {
  return svg('path', {class: className, d});
}

/**
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {{anchor?: string, kind?: string}} [how]
 */
export function label(text, x, y, how = {}) {
  const {anchor = 'start', kind = ''} = how;
  return svg('text', {x, y, 'text-anchor': anchor, class: kind || null}, text);
}

/**
 * Sets thousands apart in all numbers of an axis if any of them needs it.
 * @param {string[]} numbers
 */
function alike(numbers) {
  return numbers.some((one) => grouped(one) !== one) ? numbers.map((one) => grouped(one, 4)) : numbers;
}

/**
 * @param {SVGSVGElement} into
 * @param {Box} box
 * @param {Scale} x
 * @param {Scale} y
 * @param {{x: (value: number) => string, y: (value: number) => string, xTitle: string, yTitle: string}} words
 */
export function axes(into, box, x, y, words) {
  const yWords = alike(y.ticks.map(words.y));
  const xTicks = thinned(x.ticks, (box.right - box.left) / 44);
  const xWords = alike(xTicks.map(words.x));
  y.ticks.forEach((tick, i) => {
    const at = Math.round(y.place(tick)) + 0.5;
    into.append(
      svg('line', {class: 'grid', x1: box.left, x2: box.right, y1: at, y2: at}),
      label(yWords[i], box.left - 7, at + 4, {anchor: 'end'}));
  });
  xTicks.forEach((tick, i) => {
    const at = Math.round(x.place(tick)) + 0.5;
    into.append(
      svg('line', {class: 'tick', x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4}),
      label(xWords[i], at, box.bottom + 17, {anchor: 'middle'}));
  });
  into.append(
    svg('line', {class: 'axis', x1: box.left, x2: box.right, y1: box.bottom + 0.5, y2: box.bottom + 0.5}),
    label(words.xTitle, (box.left + box.right) / 2, box.bottom + 34, {anchor: 'middle', kind: 'title'}),
    label(words.yTitle, 0, 11, {kind: 'title'}));
}

// Markers differ by colour and by shape.
const kMarkers = 6;

/** @param {number} k @param {number} x @param {number} y @param {boolean} hollow */
export function marker(k, x, y, hollow) {
  const r = 3.6;
  const shapes = [
    `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 -${2 * r} 0`,
    `M${x - r} ${y - r}h${2 * r}v${2 * r}h-${2 * r}z`,
    `M${x} ${y - r - 1}l${r + 1} ${2 * r}h-${2 * r + 2}z`,
    `M${x} ${y - r - 1}l${r + 1} ${r + 1}l-${r + 1} ${r + 1}l-${r + 1} -${r + 1}z`,
    `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x + r} ${y - r}l-${2 * r} ${2 * r}`,
    `M${x} ${y + r + 1}l${r + 1} -${2 * r}h-${2 * r + 2}z`,
  ];
  return svg('path', {class: `marker m${k % kMarkers}${hollow ? ' hollow' : ''}`, d: shapes[k % kMarkers]});
}
