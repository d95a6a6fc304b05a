// A card: a chart with its title, a sentence, its table, CSV and Markdown.

import {html} from './dom.js';
import {csv, markdown, tableElement} from './table.js';

let cards = 0;

/** @param {string} text @param {HTMLElement} said shows the outcome */
async function copy(text, said) {
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = 'Copied';
  } catch {
    // A file opened from disk may lack the permission. The old way needs none.
    const area = html('textarea', {class: 'unseen', 'aria-label': 'to copy'});
    area.value = text;
    document.body.append(area);
    area.select();
    said.textContent = document.execCommand('copy') ? 'Copied' : 'This browser does not allow copying';
    area.remove();
  }
}

/** @param {string} name @param {BlobPart} content @param {string} type */
export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], {type}));
  html('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/**
 * A button that copies a text and says so.
 * @param {string} label
 * @param {() => string} text
 * @param {string} [what] for screen readers
 */
export function copyButton(label, text, what) {
  const said = html('span', {class: 'said', role: 'status'});
  return [html('button', {type: 'button', 'aria-label': what, onclick: () => void copy(text(), said)}, label), said];
}

/**
 * @typedef {object} Card
 * @property {string} title
 * @property {string} [about] one sentence
 * @property {Node[]} body
 * @property {import('./table.js').Table | (() => import('./table.js').Table)} [table] a function if the card's content
 *   can change; the event `documents` then asks for the table again
 * @property {boolean} [tableShown] the table is all there is
 * @property {(row: HTMLTableRowElement, index: number) => void} [eachRow]
 * @property {boolean} [half] stands beside another
 */

/** @param {Card} card */
export function cardElement({title, about, body, table, tableShown, eachRow, half}) {
  const id = `card-${++cards}`;
  const section = html('section', {class: half ? 'card half' : 'card', 'aria-labelledby': id, 'data-card': title});
  const head = html('div', {class: 'head'}, html('h2', {id}, title));
  section.append(head);
  if (about) section.append(html('p', {class: 'about'}, about));
  section.append(...body);
  if (!table) return section;

  const tools = html('div', {class: 'tools'});
  head.append(tools);
  const of = () => (typeof table === 'function' ? table() : table);
  /** @type {HTMLElement | undefined} */
  let element;
  const show = () => (element ??= section.appendChild(tableElement(of(), `${title}: table`, eachRow)));
  section.addEventListener('documents', () => {
    const seen = element && !element.hidden;
    element?.remove();
    element = undefined;
    if (seen) show();
  });
  if (tableShown) {
    show();
  } else {
    const toggle =
      html('button', {type: 'button', 'aria-expanded': 'false', 'aria-label': `Table of: ${title}`}, 'Table');
    toggle.addEventListener('click', () => {
      const open = toggle.getAttribute('aria-expanded') !== 'true';
      toggle.setAttribute('aria-expanded', String(open));
      show().hidden = !open;
    });
    tools.append(toggle);
  }
  tools.append(
    html(
      'button', {
        type: 'button',
        'aria-label': `Save as CSV: ${title}`,
        onclick: () => save(`${of().file}.csv`, csv(of()), 'text/csv')
      },
      'CSV'),
    ...copyButton('Markdown', () => markdown(of()), `Copy as Markdown: ${title}`));
  return section;
}
