// Invisible characters and characters that change the direction of text are shown by their numbers.

// Controls but for line ends, zero widths, directions, line and paragraph separators.
const kUnseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** @param {string} one */
function numbered(one) {
  return `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** @param {string} text */
export function seen(text) {
  return text.replace(kUnseen, numbered);
}

/**
 * In a line of text, where line ends are no ends either.
 * @param {string} text
 */
export function seenInLine(text) {
  return seen(text).replace(/[\t\n]/g, numbered);
}
