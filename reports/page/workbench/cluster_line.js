// Parses a CLUSTER argument: a name or file, its number of nodes, and further words; or words alone. The program lists
// the words there are (ddpsim.list/1).

/**
 * @typedef {object} ClusterLine
 * @property {string} base a bundled name or a file, empty where words say all
 * @property {number | null} nodes
 * @property {Map<string, string>} words `nic` → "4x100Gbps:ib"
 *
 * @typedef {object} Word of ddpsim.list/1
 * @property {string} name
 * @property {string} summary
 * @property {string} example of its value
 * @property {boolean} [joins_gpus] of these a node has one
 * @property {string[]} [kinds] of network
 */

/** @type {string[]} */
let keys = [];

/**
 * Must be called before any line is parsed.
 * @param {Word[]} words
 */
export function knowWords(words) {
  keys = words.map((word) => word.name);
}

/** @param {string} text @returns {ClusterLine} */
export function parsed(text) {
  /** @type {ClusterLine} */
  const line = {base: '', nodes: null, words: new Map()};
  for (const word of text.trim().split(/\s+/)) {
    const colon = word.indexOf(':');
    const key = word.slice(0, Math.max(0, colon));
    if (key === 'node')
      line.nodes = Number(word.slice(colon + 1)) || null;
    else if (keys.includes(key))
      line.words.set(key, word.slice(colon + 1));
    else if (word)
      line.base += (line.base && ' ') + word;
  }
  const at = /^(.*)@(\d+)$/.exec(line.base);
  if (at) [line.base, line.nodes] = [at[1], Number(at[2])];
  return line;
}

/** @param {ClusterLine} line */
export function written({base, nodes, words}) {
  const first = base ? [nodes === null ? base : `${base}@${nodes}`] : [`node:${nodes ?? 1}`];
  return [...first, ...[...words].map(([key, value]) => `${key}:${value}`)].join(' ');
}
