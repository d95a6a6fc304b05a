// A page whose script cannot show it: what a terminal would show still stands in the file.

import {html} from './dom.js';

/** The script runs: the text for terminals is hidden. */
export function takeOver() {
  document.documentElement.classList.add('scripted');
}

/** @param {string} why */
export function fallBack(why) {
  document.documentElement.classList.remove('scripted');
  document.body.prepend(html('p', {role: 'alert'}, why));
}
