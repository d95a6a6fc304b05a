// What the colours of a chart mean.

import {html} from './dom.js';

/** @param {[string, string][]} entries class of a swatch, and its words */
export function legendList(entries) {
  const list = html('ul', {class: 'legend', 'aria-label': 'Legend'});
  for (const [kind, words] of entries) list.append(html('li', {}, html('i', {class: `swatch ${kind}`}), words));
  return list;
}
