// The answer beside the controls: the cards of a report, drawn again while somebody drags, with the same zoom and focus.

import {html} from '../src/dom.js';
import {body, header} from '../src/page.js';

/**
 * @typedef {import('../src/envelope.js').Envelope} Envelope
 * @typedef {import('./asked.js').Asked} Asked
 */

const kOfTune = /** @type {const} */ (['tune', 'recommended_result', 'recommended_timeline']);

/**
 * Whether two questions differ only in their cap.
 * @param {Asked} one
 * @param {Asked} other
 */
function alikeButForCap(one, other) {
  const rest = (/** @type {Asked} */ {workload, cluster, options, further}) =>
    JSON.stringify([workload, cluster, Object.entries({...options, '--bucket-cap-mb': ''}).sort(), further]);
  return rest(one) === rest(other);
}

/**
 * Opens in `made` what was open in `old`.
 * @param {Element} old
 * @param {Element} made
 */
function carryOver(old, made) {
  const counterparts = (/** @type {string} */ selector) => {
    const others = [...made.querySelectorAll(selector)];
    return [...old.querySelectorAll(selector)].map(
      (one, i) =>
        /** @type {[HTMLElement, HTMLElement | undefined]} */ ([one, /** @type {HTMLElement} */ (others[i])]));
  };
  for (const [was, is] of counterparts('details'))
    if (is && /** @type {HTMLDetailsElement} */ (was).open) is.setAttribute('open', '');
  for (const [was, is] of counterparts('button[aria-expanded]'))
    if (was.getAttribute('aria-expanded') === 'true') is?.click();
}

/**
 * Index of the focused element, so that its counterpart in the new drawing gets the focus.
 * @param {Element} within
 */
function focusIn(within) {
  const focused = document.activeElement;
  if (!focused || !within.contains(focused)) return null;
  return [...within.querySelectorAll('button, summary, [tabindex]')].indexOf(focused);
}

export class Answer {
  /** @type {import('../src/timeline.js').TimelineCard | null} */ #timeline = null;
  /** @type {{envelope: Envelope, asked: Asked} | null} */ #weighed = null;
  #header = html('header', {});
  #grid = html('div', {class: 'grid'});

  constructor() {
    this.element = html('div', {class: 'answer'}, this.#header, this.#grid);
  }

  /**
   * Nothing of what is shown answers what is asked.
   * @param {boolean} stale
   */
  stale(stale) {
    this.element.classList.toggle('stale', stale);
  }

  /**
   * @param {Envelope} envelope
   * @param {'simulate' | 'tune'} what
   * @param {Asked} asked
   */
  show(envelope, what, asked) {
    // Read before anything changes, when it costs no layout.
    const scrolled = [...this.#grid.querySelectorAll('.scroll')].flatMap(
      (one) => (one.scrollTop > 0 ? {label: one.getAttribute('aria-label'), top: one.scrollTop} : []));
    this.stale(false);
    if (what === 'tune') this.#weighed = {envelope, asked};
    let shown = envelope;
    const before = this.#weighed;
    if (what === 'simulate' && before) {
      // Until all caps are compared again, the last comparison stays, marked as old.
      const alike = alikeButForCap(before.asked, asked);
      const kept = Object.fromEntries(
        kOfTune.filter((name) => alike || name !== 'recommended_timeline')
          .map((name) => [name, before.envelope.documents[name]]));
      shown = {...envelope, documents: {...kept, ...envelope.documents}};
    }
    const between = what === 'simulate';
    const standing = new Map([...this.#grid.children].map(
      (card) => [/** @type {HTMLElement} */ (card).dataset.card, /** @type {HTMLElement} */ (card)]));
    const {cards, timeline} = body(shown, this.#timeline, (title) => (between ? standing.get(title) : undefined));
    this.#timeline = timeline;
    const first = header(envelope);
    // Cards that move with the controls come first, then the confidence.
    const trust = /** @type {HTMLElement | null} */ (first.querySelector('.trust'));
    if (trust) {
      trust.dataset.card = 'trust';
      cards.splice(timeline ? cards.indexOf(timeline.element) + 1 : 0, 0, trust);
    }
    this.#swap(this.#header, first);
    this.#header = first;
    this.#place(cards, standing, between);
    for (const {label, top} of scrolled)
      for (const one of this.#grid.querySelectorAll('.scroll'))
        if (one.getAttribute('aria-label') === label) one.scrollTop = top;
    const cap = Number(asked.options['--bucket-cap-mb']);
    if (cap > 0)
      this.#grid.querySelector('[data-card="Step time by bucket cap"]')?.dispatchEvent(new CustomEvent('cap', {
        detail: cap
      }));
  }

  /** @param {HTMLElement} old @param {HTMLElement} made */
  #swap(old, made) {
    carryOver(old, made);
    const focused = focusIn(old);
    old.replaceWith(made);
    if (focused !== null) /** @type {HTMLElement | undefined} */
      ([...made.querySelectorAll('button, summary, [tabindex]')][focused])?.focus({preventScroll: true});
  }

  /**
   * Cards take the places of those with their titles; one that stays where it is is not touched.
   * @param {HTMLElement[]} cards
   * @param {Map<string | undefined, HTMLElement>} old
   * @param {boolean} between two answers of `tune`: cards that are of it alone stay
   */
  #place(cards, old, between) {
    let next = this.#grid.firstElementChild;
    for (let card of cards) {
      const before = old.get(card.dataset.card);
      if (before && between && card.dataset.of === 'tune') card = before;
      card.classList.toggle('stale', between && card.dataset.of === 'tune');
      old.delete(card.dataset.card);
      if (before && before !== card) {
        if (before === next) next = before.nextElementSibling;
        this.#swap(before, card);
        if (card.nextElementSibling !== next) this.#grid.insertBefore(card, next);
      } else if (card === next)
        next = next.nextElementSibling;
      else
        this.#grid.insertBefore(card, next);
    }
    for (const gone of old.values()) gone.remove();
  }
}
