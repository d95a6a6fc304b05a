// The timeline of a step: zoom, pan, select, by pointer and by keys.

import {cardElement} from './card.js';
import {html} from './dom.js';
import {bucketDetails, markDetails} from './timeline_details.js';
import {hit} from './timeline_hit.js';
import {layOut} from './timeline_layout.js';
import {timelineGroups} from './timeline_model.js';
import {coloursOf, paint} from './timeline_paint.js';
import {timelineLegend} from './timeline_legend.js';
import {greatest, smallest} from './scale.js';
import {spanTable} from './timeline_table.js';
import {time} from './units.js';

/**
 * @typedef {import('./documents.js').Documents} Documents
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./timeline_paint.js').Selection} Selection
 */

const kClosest = 0.5; // microseconds across the whole width
const kDense = 6;     // lanes of more ranks are thin

/**
 * @typedef {object} TimelineCard
 * @property {HTMLElement} element
 * @property {(index: number, recommended?: boolean) => void} selectBucket
 * @property {(documents: Documents) => boolean} show another step where this one was, seen as closely; false where
 *   there is none
 */

/**
 * What is drawn of it.
 * @param {Documents} documents
 */
function stepsOf(documents) {
  const all = timelineGroups(documents);
  const few = all.filter((group) => group.first || all.length <= 3);
  const length = greatest(documents.result?.iteration_us ?? 0, all.map((group) => group.end));
  const begin = smallest(
    0, all.flatMap((group) => group.lanes.flatMap((lane) => lane.marks.slice(0, 1).map((mark) => mark.start))));
  // What ends last must not stand at the very edge.
  return {all, few, length, begin, whole: length * 1.005};
}

/**
 * Where a measured step is replayed, steps are drawn under one of two readings, and gains are the mean of both.
 * @param {Documents} documents
 */
function replayed({tune, recommended_timeline}) {
  return tune?.recommended_by_cause && recommended_timeline
    ? ' Both steps are drawn as if compute were all that the replay misses; ' +
      'the gain is the mean of that and of communication.'
    : '';
}

/** @param {Documents} documents @returns {TimelineCard | null} */
export function timelineCard(documents) {
  let steps = stepsOf(documents);
  if (!steps.all.length) return null;
  const everyRank = html('input', {type: 'checkbox'});
  let groups = steps.few;
  let layout = layOut(groups, groups.length > kDense);
  const view = {from: steps.begin, to: steps.whole, left: 104, width: 800};
  /** @type {Selection | null} */
  let selection = null;

  const canvas = html('canvas', {'aria-hidden': 'true'});
  const help = html(
    'p', {class: 'unseen', id: 'timeline-help'},
    'Arrow keys move, plus and minus zoom, 0 shows all, N and P go from bucket to bucket. ' +
      'All figures are in the table of the timeline and in the bucket table.');
  const stage = html(
    'div', {
      class: 'stage',
      tabindex: 0,
      role: 'application',
      'aria-label': 'Timeline of the step',
      'aria-describedby': 'timeline-help'
    },
    canvas, help);
  const overview = html('canvas', {class: 'overview', 'aria-hidden': 'true'});
  const tip = html('div', {class: 'tip', hidden: true});
  const details = html('div', {class: 'details', 'aria-live': 'polite'});
  const range = html('span', {class: 'range', role: 'status'});
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));

  /**
   * Milliseconds of script of each drawing, for who measures.
   * @type {number[]}
   */
  const frames = [];
  /** @type {any} */ (stage).frames = frames;
  let printing = false;
  let asked = 0;
  const draw = () => {
    asked = 0;
    const ratio = printing ? 3 : window.devicePixelRatio || 1;
    view.width = Math.max(240, stage.clientWidth);
    view.left = layout.rows.some((row) => row.label) ? (view.width < 560 ? 66 : 104) : 64;
    const width = Math.round(view.width * ratio);
    const height = Math.round(layout.height * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
      canvas.style.height = `${layout.height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const begun = performance.now();
    const colours = coloursOf(stage);
    paint(context, layout, view, selection, colours);
    drawOverview(overview, view, steps, colours, ratio);
    frames.push(performance.now() - begun);
    if (frames.length > 600) frames.shift();
    range.textContent =
      seenWhole() ? `whole step, ${time(steps.length, 4)}` : `${time(Math.max(0, view.from))} to ${time(view.to)}`;
  };
  const redraw = () => {
    if (!asked) asked = requestAnimationFrame(draw);
  };

  const seenWhole = () => view.from <= steps.begin && view.to >= steps.whole;
  /** @param {number} from @param {number} to */
  const show = (from, to) => {
    const span = Math.min(steps.whole - steps.begin, Math.max(kClosest, to - from));
    view.from = Math.min(Math.max(steps.begin, from), steps.whole - span);
    view.to = view.from + span;
    redraw();
  };
  /** @param {number} factor below 1: closer @param {number} [about] microseconds that stay where they are */
  const zoom = (factor, about = (view.from + view.to) / 2) =>
    show(about - (about - view.from) * factor, about + (view.to - about) * factor);
  /** @param {number} share of what is seen */
  const pan = (share) => show(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
  const usAt = (/** @type {number} */ x) =>
    view.from + ((x - view.left) / (view.width - view.left)) * (view.to - view.from);

  /** @param {Selection | null} next */
  const select = (next) => {
    selection = next;
    details.replaceChildren(...(next ? describe(next) : [hint()]));
    redraw();
  };
  const hint = () => html(
    'p', {class: 'about'}, 'Select a span or a bucket to read what it is, what it waits for and why it is exposed.');
  /** @param {Selection} of */
  const describe = ({group, bucket, mark}) => {
    const known = bucket === null
      ? undefined
      : group.buckets.find((one) => one.index === bucket) ??
        steps.all.find((other) => other.step === group.step && other.buckets.length)
          ?.buckets.find((one) => one.index === bucket);
    return [...(mark ? [markDetails(mark, group)] : []), ...(known ? [bucketDetails(known, group)] : [])];
  };
  const withBuckets = () => groups.filter((group) => group.buckets.length);
  /** @param {number} by */
  const nextBucket = (by) => {
    const of = selection && selection.group.buckets.length ? selection.group : withBuckets()[0];
    if (!of) return;
    const at = of.buckets.findIndex((one) => one.index === selection?.bucket);
    const bucket = of.buckets[(at + by + (at < 0 && by < 0 ? 1 : 0) + of.buckets.length) % of.buckets.length];
    select({group: of, bucket: bucket.index, mark: null});
    if (bucket.end_us < view.from || bucket.start_us > view.to) {
      const span = view.to - view.from;
      show((bucket.start_us + bucket.end_us - span) / 2, (bucket.start_us + bucket.end_us + span) / 2);
    }
  };

  const fit = () => show(steps.begin, steps.whole);
  listen({
    stage,
    canvas,
    overview,
    tip,
    view,
    show,
    zoom,
    pan,
    usAt,
    select,
    nextBucket,
    fit,
    layout: () => layout,
    steps: () => steps
  });

  const button = (/** @type {string} */ label, /** @type {string} */ what, /** @type {() => void} */ act) =>
    html('button', {type: 'button', 'aria-label': what, title: what, onclick: act}, label);
  const buckets = [
    button('Previous bucket', 'Select the previous bucket', () => nextBucket(-1)),
    button('Next bucket', 'Select the next bucket', () => nextBucket(1)),
  ];
  const controls = html(
    'div', {class: 'controls', role: 'group', 'aria-label': 'Timeline controls'},
    button('−', 'Zoom out', () => zoom(2)), button('+', 'Zoom in', () => zoom(0.5)),
    button('Fit', 'Show the whole step', fit), button('←', 'Move left', () => pan(-0.3)),
    button('→', 'Move right', () => pan(0.3)), ...(withBuckets().length ? buckets : []), range);
  const ranks = html('label', {});
  controls.append(ranks);
  const key = html('div');
  /** What stands beside the drawing, and follows it. */
  const settle = () => {
    const {all, few} = steps;
    groups = everyRank.checked ? all : few;
    layout = layOut(groups, groups.length > kDense);
    ranks.hidden = all.length === few.length;
    ranks.replaceChildren(everyRank, ` all ${all.length} ranks`);
    key.replaceChildren(timelineLegend(groups.length ? all : few));
    redraw();
  };
  everyRank.addEventListener('change', settle);
  details.append(hint());

  new ResizeObserver(redraw).observe(stage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', () => {
    printing = true;
    document.documentElement.classList.add('on-paper'); // which is light, whatever the screen is
    draw();
  });
  addEventListener('afterprint', () => {
    printing = false;
    document.documentElement.classList.remove('on-paper');
    redraw();
  });

  const starts = withBuckets().length
    ? 'A bucket’s all-reduce starts once its gradients are ready, the host has launched it ' +
      'and the one before has ended.'
    : 'A collective starts once what it sends is there, the host has launched it ' +
      'and the one before on its stream has ended.';
  const element = cardElement({
    title: 'The step, span by span',
    about: `${starts} Striped red is what the GPU waits for.${replayed(documents)}`,
    body: [key, controls, stage, overview, tip, details],
    table: () => spanTable(steps.all),
  });
  element.classList.add('timeline');
  settle();
  return {
    element,
    selectBucket: (index, recommended = false) => {
      const of = withBuckets().find((group) => (group.step === 'recommended') === recommended) ?? withBuckets()[0];
      if (!of) return;
      select({group: of, bucket: index, mark: null});
      element.scrollIntoView({block: 'start'});
      stage.focus({preventScroll: true});
    },
    show: (other) => {
      const next = stepsOf(other);
      if (!next.all.length) return false;
      const closely = !seenWhole();
      steps = next;
      settle();
      if (closely)
        show(view.from, view.to);
      else
        fit();
      const same = selection && steps.all.find((group) => group.title === selection?.group.title);
      select(
        same && selection?.bucket != null && same.buckets.some((one) => one.index === selection?.bucket)
          ? {group: same, bucket: selection.bucket, mark: null}
          : null);
      element.dispatchEvent(new Event('documents'));
      return true;
    },
  };
}

/** @param {Selection} of */
function shortly({mark, bucket}) {
  if (!mark) return `bucket ${bucket}`;
  return `${mark.name}${mark.bucket === null ? '' : `, bucket ${mark.bucket}`}: ${time(mark.end - mark.start)}`;
}

/**
 * The whole step in small, and what is seen of it.
 * @param {HTMLCanvasElement} canvas
 * @param {{from: number, to: number, left: number, width: number}} view
 * @param {{begin: number, whole: number}} step
 * @param {Record<string, string>} colours
 * @param {number} ratio
 */
function drawOverview(canvas, view, {begin, whole}, colours, ratio) {
  const height = 16;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = height * ratio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const at = (/** @type {number} */ us) => view.left + ((us - begin) / (whole - begin)) * (view.width - view.left);
  context.fillStyle = colours.line;
  context.fillRect(view.left, 7, view.width - view.left, 3);
  if (view.from <= begin && view.to >= whole) return;
  context.fillStyle = colours.mute;
  context.fillRect(at(view.from), 4, Math.max(4, at(view.to) - at(view.from)), 9);
}

/** @param {any} parts */
function listen({stage, canvas, overview, tip, view, show, zoom, pan, usAt, select, nextBucket, fit, layout, steps}) {
  /** @type {Map<number, {x: number, y: number}>} */
  const pointers = new Map();
  let moved = 0;
  const xOf = (/** @type {MouseEvent} */ event) => event.clientX - canvas.getBoundingClientRect().left;
  const found = (/** @type {MouseEvent} */ event) => {
    const perPixel = (view.to - view.from) / (view.width - view.left);
    return hit(layout(), event.clientY - canvas.getBoundingClientRect().top, usAt(xOf(event)), 4 * perPixel);
  };

  stage.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
    if (event.button) return;
    pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
    stage.setPointerCapture(event.pointerId);
    moved = 0;
  });
  stage.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const perPixel = (view.to - view.from) / (view.width - view.left);
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    moved += Math.abs(event.clientX - before.x);
    if (others.length) {
      const was = Math.abs(before.x - others[0].x);
      const is = Math.abs(event.clientX - others[0].x);
      if (was > 10 && is > 10)
        zoom(was / is, usAt((event.clientX + others[0].x) / 2 - canvas.getBoundingClientRect().left));
    } else if (moved > 3) {
      tip.hidden = true;
      show(view.from - (event.clientX - before.x) * perPixel, view.to - (event.clientX - before.x) * perPixel);
    }
    pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  const release = (/** @type {PointerEvent} */ event) => {
    const own = pointers.delete(event.pointerId);
    if (own && moved <= 3 && event.type === 'pointerup') select(found(event));
  };
  stage.addEventListener('pointerup', release);
  stage.addEventListener('pointercancel', release);
  stage.addEventListener('pointerleave', () => (tip.hidden = true));

  /** @param {PointerEvent} event */
  const hover = (event) => {
    const over = event.pointerType === 'mouse' ? found(event) : null;
    stage.classList.toggle('over', Boolean(over));
    tip.hidden = !over;
    if (!over) return;
    tip.textContent = shortly(over);
    const card = tip.parentElement.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - card.left + 14, card.width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY - card.top + 16}px`;
  };

  stage.addEventListener('wheel', (/** @type {WheelEvent} */ event) => {
    // Without Ctrl the wheel scrolls the page; what goes sideways goes through the step.
    if (event.ctrlKey || event.metaKey)
      zoom(2 ** (Math.max(-60, Math.min(60, event.deltaY)) / 60), usAt(xOf(event)));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan(event.deltaX / 600);
    else
      return;
    event.preventDefault();
  }, {passive: false});
  stage.addEventListener('dblclick', (/** @type {MouseEvent} */ event) => zoom(0.4, usAt(xOf(event))));

  const keys = /** @type {Record<string, () => void>} */ ({
    ArrowLeft: () => pan(-0.15),
    ArrowRight: () => pan(0.15),
    '+': () => zoom(0.6),
    '=': () => zoom(0.6),
    '-': () => zoom(1 / 0.6),
    0: fit,
    Home: () => show(steps().begin, steps().begin + view.to - view.from),
    End: () => show(steps().whole - (view.to - view.from), steps().whole),
    n: () => nextBucket(1),
    p: () => nextBucket(-1),
    Escape: () => select(null),
  });
  stage.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    act();
    event.preventDefault();
  });

  const toCentre = (/** @type {PointerEvent} */ event) => {
    const box = overview.getBoundingClientRect();
    const {begin, whole} = steps();
    const centre = begin + ((event.clientX - box.left - view.left) / (view.width - view.left)) * (whole - begin);
    const half = (view.to - view.from) / 2;
    show(centre - half, centre + half);
  };
  overview.addEventListener('pointerdown', (/** @type {PointerEvent} */ event) => {
    overview.setPointerCapture(event.pointerId);
    toCentre(event);
  });
  overview.addEventListener('pointermove', (/** @type {PointerEvent} */ event) => {
    if (overview.hasPointerCapture(event.pointerId)) toCentre(event);
  });
}
