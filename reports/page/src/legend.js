// What the colours and markers of a chart mean.

import {html, svg} from './dom.js';
import {name} from './names.js';
import {marker} from './plot.js';

/** @param {[string, string][]} entries class of a swatch, and its words */
export function legendList(entries) {
  const list = html('ul', {class: 'legend', 'aria-label': 'Legend'});
  for (const [kind, words] of entries) list.append(html('li', {}, html('i', {class: `swatch ${kind}`}), words));
  return list;
}

/**
 * @param {string[]} names of what has the first, the second … marker
 * @param {string[]} [others] words without a marker
 */
export function markerLegend(names, others = []) {
  const list = html('ul', {class: 'legend', 'aria-label': 'Legend'});
  names.forEach((one, k) => {
    const looks = {class: 'sample', viewBox: '-6 -6 12 12', width: 12, height: 12, 'aria-hidden': 'true'};
    list.append(html('li', {}, svg('svg', looks, marker(k, 0, 0, false)), name(one)));
  });
  for (const words of others) list.append(html('li', {}, words));
  return list;
}
