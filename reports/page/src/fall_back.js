// If the script cannot show the page, the terminal output in the file is shown instead.

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
