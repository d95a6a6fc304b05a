// Names come from files of others: they may hold markup, turn the direction of what follows, or have no end.

import {html} from './dom.js';

const kMost = 160;
// Controls, zero widths, directions, line and paragraph separators.
const kUnseen = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * What cannot be seen is named; a long text keeps both of its ends.
 * @param {unknown} text
 * @param {number} [most] characters
 */
export function visible(text, most = kMost) {
  const seen = String(text).replace(kUnseen, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
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
