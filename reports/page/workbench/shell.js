// Quotes words for a shell and splits lines into words.

/**
 * One word, in quotes if it needs them, as the program prints commands.
 * @param {string} word
 */
export function shellWord(word) {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(word) ? word : `'${word.replaceAll(`'`, `'\\''`)}'`;
}

/**
 * The words of a line; quotes hold one together.
 * @param {string} line
 */
export function words(line) {
  /** @type {string[]} */
  const found = [];
  for (const [whole] of line.matchAll(/(?:'[^']*'?|"[^"]*"?|\\.|[^\s'"\\])+/g))
    found.push(
      whole.replace(/'([^']*)'?|"([^"]*)"?|\\(.)/g, (_, single, double, escaped) => single ?? double ?? escaped ?? ''));
  return found;
}
