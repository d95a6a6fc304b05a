// Controls with their labels, and a place for an error beside each.

import {html} from '../src/dom.js';

/**
 * @typedef {object} Field
 * @property {HTMLElement} element
 * @property {(value: string) => void} set shows a value, and tells nobody
 * @property {(problem: string) => void} wrong empty: nothing is
 */

let fields = 0;

/**
 * @param {string} label
 * @param {HTMLElement & {id: string}} control the one the label is of
 * @param {{also?: Node[], hint?: string, kind?: string}} how
 */
export function field(label, control, {also = [], hint, kind}) {
  const id = `field-${++fields}`;
  control.id = id;
  const problem = html('p', {class: 'wrong', id: `${id}-wrong`, role: 'alert', hidden: true});
  const about = hint ? html('p', {class: 'hint', id: `${id}-hint`}, hint) : null;
  control.setAttribute('aria-describedby', `${id}-wrong${about ? ` ${id}-hint` : ''}`);
  const element = html(
    'div', {class: `field ${kind ?? ''}`}, html('label', {'for': id}, label),
    html('div', {class: 'entry'}, control, ...also), about, problem);
  /** @param {string} text */
  const wrong = (text) => {
    problem.textContent = text;
    problem.hidden = !text;
    if (text)
      control.setAttribute('aria-invalid', 'true');
    else
      control.removeAttribute('aria-invalid');
  };
  return {element, wrong};
}

/**
 * @typedef {{value: string, text: string}} Choice
 * @param {string} label
 * @param {(Choice | {group: string, choices: Choice[]})[]} choices
 * @param {(value: string) => void} changed
 * @param {string} [hint]
 */
export function choiceField(label, choices, changed, hint) {
  /** @type {HTMLSelectElement} */
  const control = html('select', {onchange: () => changed(control.value)});
  const option = (/** @type {Choice} */ {value, text}) => html('option', {value}, text);
  /** @param {(Choice | {group: string, choices: Choice[]})[]} list */
  const offer = (list) => {
    const was = control.value;
    control.replaceChildren(...list.map(
      (one) => ('group' in one ? html('optgroup', {label: one.group}, ...one.choices.map(option)) : option(one))));
    control.value = was;
    if (control.selectedIndex < 0) control.selectedIndex = 0;
  };
  offer(choices);
  return {
    ...field(label, control, {hint}),
    control,
    offer,
    set: (/** @type {string} */ value) => {
      control.value = value;
      if (control.selectedIndex >= 0) return;
      // A value from an address, or a typed one, becomes a choice.
      control.append(option({value, text: value}));
      control.value = value;
    },
  };
}

/**
 * @param {string} label
 * @param {(value: string) => void} changed
 * @param {{hint?: string, placeholder?: string, suggestions?: string[], kind?: string}} how
 */
export function textField(label, changed, {hint, placeholder, suggestions, kind}) {
  /** @type {HTMLInputElement} */
  const control = html('input', {
    type: 'text',
    placeholder,
    autocomplete: 'off',
    spellcheck: 'false',
    onchange: () => changed(control.value.trim())
  });
  /** @type {Node[]} */
  const also = [];
  const made = field(label, control, {hint, kind, also});
  if (suggestions) {
    const list = html('datalist', {id: `${control.id}-list`}, ...suggestions.map((value) => html('option', {value})));
    control.setAttribute('list', list.id);
    made.element.append(list);
  }
  return {...made, control, set: (/** @type {string} */ value) => void (control.value = value)};
}

/** @param {string} label @param {(on: boolean) => void} changed */
export function flagField(label, changed) {
  /** @type {HTMLInputElement} */
  const control = html('input', {type: 'checkbox', onchange: () => changed(control.checked)});
  const made = field(label, control, {kind: 'flag'});
  return {...made, control, set: (/** @type {boolean} */ on) => void (control.checked = on)};
}

/**
 * A number with a logarithmic slider.
 * @param {string} label
 * @param {{from: number, to: number, perDoubling: number, round: (value: number) => number, unit: string, least?:
 *   number, none?: string, hint?: string}} how `none`: the word for an unset value; a button unsets it
 * @param {(value: number | null) => void} changed while dragging, too
 */
export function ratioField(label, {from, to, perDoubling, round, unit, least = 0, none, hint}, changed) {
  const most = Math.round(Math.log2(to / from) * perDoubling);
  const placed = (/** @type {number} */ value) =>
    Math.max(0, Math.min(most, Math.round(Math.log2(value / from) * perDoubling)));
  const number = html('input', {type: 'number', min: least, step: 'any', inputmode: 'decimal', placeholder: none});
  const slider = html('input', {type: 'range', min: 0, max: most, step: 1, 'aria-label': `${label}, slider`});
  const unset = none ? html('button', {type: 'button', 'aria-label': `${label}: ${none}`}, none) : null;
  /** @param {number | null} value @param {number} [rests] where the slider stands while nothing is set */
  const set = (value, rests = 25) => {
    if (document.activeElement !== number || Number(number.value) !== value)
      number.value = value === null ? '' : String(value);
    if (
      document.activeElement !== slider ||
      placed(round(from * 2 ** (Number(slider.value) / perDoubling))) !== placed(value ?? rests))
      slider.value = String(placed(value ?? rests));
    slider.setAttribute('aria-valuetext', value === null ? `${none}` : `${value} ${unit}`);
    unset?.setAttribute('aria-pressed', String(value === null));
  };
  slider.addEventListener('input', () => {
    const value = round(from * 2 ** (Number(slider.value) / perDoubling));
    set(value);
    changed(value);
  });
  number.addEventListener('input', () => {
    const value = number.value === '' ? null : Number(number.value);
    if (value === null ? !none : !(value > 0)) return;
    set(value);
    changed(value);
  });
  unset?.addEventListener('click', () => {
    set(null);
    changed(null);
  });
  const made = field(
    label, number,
    {also: [html('span', {class: 'unit'}, unit), ...(unset ? [unset] : []), slider], hint, kind: 'ratio'});
  return {...made, control: number, slider, set};
}
