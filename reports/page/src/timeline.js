// The timeline of a step: zoom, pan, select, by pointer and by keys.

import {cardElement} from './card.js';
import {html} from './dom.js';
import {bucketDetails, markDetails} from './timeline_details.js';
import {listen} from './timeline_input.js';
import {layOut} from './timeline_layout.js';
import {timelineLegend} from './timeline_legend.js';
import {timelineSteps} from './timeline_model.js';
import {drawOverview, overviewOf} from './timeline_overview.js';
import {paint} from './timeline_paint.js';
import {coloursOf} from './timeline_style.js';
import {spanTable} from './timeline_table.js';
import {TimelineView} from './timeline_view.js';
import {time} from './units.js';

/**
 * @typedef {import('./envelope.js').Documents} Documents
 * @typedef {import('./timeline_model.js').Steps} Steps
 * @typedef {import('./timeline_paint.js').Selection} Selection
 *
 * @typedef {object} TimelineCard
 * @property {HTMLElement} element
 * @property {(index: number, recommended?: boolean) => void} selectBucket
 * @property {(documents: Documents) => boolean} show another step in its place with the same zoom; returns false if
 *   there is none
 */

// Lanes of more ranks are thin.
const kDense = 6;
// Canvas pixels per CSS pixel on paper.
const kPaper = 3;
// Drawings whose milliseconds are kept.
const kFrames = 600;

/** @param {Documents} documents @returns {TimelineCard | null} */
export function timelineCard(documents) {
  const steps = timelineSteps(documents);
  if (!steps.all.length) return null;
  const timeline = new Timeline(steps);
  const buckets = timeline.withBuckets.length > 0;
  const starts = buckets
    ? 'A bucket’s all-reduce starts once its gradients are ready, the host has launched it ' +
      'and the one before has ended.'
    : 'A collective starts once what it sends is there, the host has launched it ' +
      'and the one before on its stream has ended.';
  const {key, stage, overview, tip, details} = timeline;
  const element = cardElement({
    title: 'The step, span by span',
    about: `${starts} Striped red: the GPU waits for communication.${replayed(documents)}`,
    body: [key, controls(timeline, buckets), stage, overview, tip, details],
    table: () => spanTable(timeline.steps.all),
  });
  element.classList.add('timeline');
  return {
    element,
    selectBucket: (index, recommended = false) => {
      if (!timeline.selectBucket(index, recommended)) return;
      element.scrollIntoView({block: 'start'});
      stage.focus({preventScroll: true});
    },
    show: (other) => {
      const next = timelineSteps(other);
      if (!next.all.length) return false;
      timeline.showSteps(next);
      element.dispatchEvent(new Event('documents'));
      return true;
    },
  };
}

/**
 * Steps that replay a measured one are drawn for one of two attributions. Gains are the mean of both.
 * @param {Documents} documents
 */
function replayed({tune, recommended_timeline}) {
  return tune?.recommended_by_cause && recommended_timeline
    ? ' Both steps assume that the replay misses only compute. ' +
      'The gain is the mean of this case and of the one where it misses communication.'
    : '';
}

/** @param {Timeline} timeline @param {boolean} buckets whether there are any to go to */
function controls(timeline, buckets) {
  const {view} = timeline;
  const button = (/** @type {string} */ label, /** @type {string} */ what, /** @type {() => void} */ act) =>
    html('button', {type: 'button', 'aria-label': what, title: what, onclick: act}, label);
  const list = [
    button('−', 'Zoom out', () => view.zoom(2)),
    button('+', 'Zoom in', () => view.zoom(0.5)),
    button('Fit', 'Show the whole step', () => view.fit()),
    button('←', 'Move left', () => view.pan(-0.3)),
    button('→', 'Move right', () => view.pan(0.3)),
  ];
  if (buckets) {
    list.push(button('Previous bucket', 'Select the previous bucket', () => timeline.selectNext(-1)));
    list.push(button('Next bucket', 'Select the next bucket', () => timeline.selectNext(1)));
  }
  const group = {class: 'controls', role: 'group', 'aria-label': 'Timeline controls'};
  return html('div', group, ...list, timeline.range, timeline.ranks);
}

function hint() {
  const words = 'Select a span or a bucket to read what it is, what it waits for and why it is exposed.';
  return html('p', {class: 'about'}, words);
}

/** What is drawn, which part of it is visible, and what is selected. */
class Timeline {
  key = html('div');
  canvas = html('canvas', {'aria-hidden': 'true'});
  tip = html('div', {class: 'tip', hidden: true});
  details = html('div', {class: 'details', 'aria-live': 'polite'}, hint());
  range = html('span', {class: 'range', role: 'status'});
  ranks = html('label', {});
  /** @type {Selection | null} */ selection = null;
  #everyRank = html('input', {type: 'checkbox', onchange: () => this.#settle()});
  #printing = false;
  #asked = 0;
  /**
   * Milliseconds of script of each drawing, read by tests.
   * @type {number[]}
   */
  #frames = [];

  /** @param {Steps} steps */
  constructor(steps) {
    const help = html(
      'p', {class: 'unseen', id: 'timeline-help'},
      'Arrow keys move, plus and minus zoom, 0 shows all, N and P go from bucket to bucket. ' +
        'All values are in the table of the timeline and in the bucket table.');
    const named = {role: 'application', 'aria-label': 'Timeline of the step', 'aria-describedby': 'timeline-help'};
    this.stage = html('div', {class: 'stage', tabindex: 0, ...named}, this.canvas, help);
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    /** @type {any} */ (this.stage).frames = this.#frames;
    this.steps = steps;
    this.groups = steps.few;
    this.layout = layOut(this.groups, false);
    this.view = new TimelineView(steps, () => this.#redraw());
    this.overview = overviewOf(this.view);
    listen(this);
    this.#redrawWhereLooksChange();
    this.#settle();
  }

  get withBuckets() {
    return this.groups.filter((group) => group.buckets.length);
  }

  #redrawWhereLooksChange() {
    new ResizeObserver(() => this.#redraw()).observe(this.stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
    addEventListener('beforeprint', () => {
      this.#printing = true;
      document.documentElement.classList.add('on-paper'); // which is light, whatever the screen is
      this.#draw();
    });
    addEventListener('afterprint', () => {
      this.#printing = false;
      document.documentElement.classList.remove('on-paper');
      this.#redraw();
    });
  }

  /** Brings controls and legend up to date with the drawing. */
  #settle() {
    const {all, few} = this.steps;
    this.groups = this.#everyRank.checked ? all : few;
    this.layout = layOut(this.groups, this.groups.length > kDense);
    this.ranks.hidden = all.length === few.length;
    this.ranks.replaceChildren(this.#everyRank, ` all ${all.length} ranks`);
    this.key.replaceChildren(timelineLegend(this.groups.length ? all : few));
    this.#redraw();
  }

  #redraw() {
    if (!this.#asked) this.#asked = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#asked = 0;
    const {canvas, context, layout, view} = this;
    const ratio = this.#printing ? kPaper : window.devicePixelRatio || 1;
    view.width = Math.max(240, this.stage.clientWidth);
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
    const colours = coloursOf(this.stage);
    paint(context, layout, view, this.selection, colours);
    drawOverview(this.overview, view, colours, ratio);
    this.#frames.push(performance.now() - begun);
    if (this.#frames.length > kFrames) this.#frames.shift();
    this.range.textContent = view.seesWhole
      ? `whole step, ${time(this.steps.length, 4)}`
      : `${time(Math.max(0, view.from))} to ${time(view.to)}`;
  }

  /** @param {Selection | null} next */
  select(next) {
    this.selection = next;
    this.details.replaceChildren(...(next ? this.#describe(next) : [hint()]));
    this.#redraw();
  }

  /** @param {Selection} of */
  #describe({group, bucket, mark}) {
    const ofStep = this.steps.all.find((other) => other.step === group.step && other.buckets.length);
    const buckets = bucket === null ? [] : [...group.buckets, ...(ofStep?.buckets ?? [])];
    const known = buckets.find((one) => one.index === bucket);
    return [...(mark ? [markDetails(mark, group)] : []), ...(known ? [bucketDetails(known, group)] : [])];
  }

  /**
   * @param {number} index
   * @param {boolean} recommended of the recommended step, where it is drawn
   * @returns {boolean} whether any step has buckets
   */
  selectBucket(index, recommended) {
    const groups = this.withBuckets;
    const of = groups.find((group) => (group.step === 'recommended') === recommended) ?? groups[0];
    if (of) this.select({group: of, bucket: index, mark: null});
    return Boolean(of);
  }

  /** @param {number} by 1: the next one, -1: the one before */
  selectNext(by) {
    const of = this.selection?.group.buckets.length ? this.selection.group : this.withBuckets[0];
    if (!of) return;
    const at = of.buckets.findIndex((one) => one.index === this.selection?.bucket);
    const bucket = of.buckets[(at + by + (at < 0 && by < 0 ? 1 : 0) + of.buckets.length) % of.buckets.length];
    this.select({group: of, bucket: bucket.index, mark: null});
    const {from, to} = this.view;
    if (bucket.end_us < from || bucket.start_us > to) this.view.centre((bucket.start_us + bucket.end_us) / 2);
  }

  /**
   * Shows another step with the same zoom. The same bucket stays selected if there is one.
   * @param {Steps} next
   */
  showSteps(next) {
    const {view} = this;
    const closely = !view.seesWhole;
    this.steps = next;
    view.step = next;
    this.#settle();
    if (closely)
      view.show(view.from, view.to);
    else
      view.fit();
    const {group: was, bucket} = this.selection ?? {group: null, bucket: null};
    const same = next.all.find((group) => group.title === was?.title);
    const there = bucket !== null && same?.buckets.some((one) => one.index === bucket);
    this.select(same && there ? {group: same, bucket, mark: null} : null);
  }
}
