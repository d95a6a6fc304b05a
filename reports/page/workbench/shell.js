// Words as a shell takes them, both ways.

/**
 * One word, in quotes where it needs them: as the program prints its own.
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
