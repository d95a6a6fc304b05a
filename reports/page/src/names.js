// Names come from files of others: they may hold markup, turn the direction of what follows, or have no end.

import {html} from './dom.js';
import {seenInLine} from './unseen.js';

const kMost = 160;

/**
 * What cannot be seen is named; a long text keeps both of its ends.
 * @param {unknown} text
 * @param {number} [most] characters
 */
export function visible(text, most = kMost) {
  const seen = seenInLine(String(text));
  if (seen.length <= most) return seen;
  const half = Math.floor((most - 1) / 2);
  return `${seen.slice(0, half)}…${seen.slice(-half)}`;
}

/**
 * In a line of text, with a direction of its own.
 * @param {unknown} text
 * @param {number} [most]
 */
export function name(text, most) {
  return html('bdi', {}, visible(text, most));
}
