// Names come from foreign files: they may contain markup, change the direction of text, or be endless.

import {html} from './dom.js';
import {seenInLine} from './unseen.js';

const kMost = 160;

/**
 * Replaces invisible characters by their numbers. A long text keeps both ends.
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
