// A CLUSTER argument taken apart: a name or file, its number of nodes, and words beside it; or words alone.

/**
 * @typedef {object} ClusterLine
 * @property {string} base a bundled name or a file, empty where words say all
 * @property {number | null} nodes
 * @property {Map<string, string>} words `nic` → "4x100Gbps:ib"
 */

const kWords = [
  'gpu', 'nvswitch', 'nvlink', 'xgmi', 'pcie', 'root', 'domain', 'nic', 'oversubscription', 'leaf', 'pod', 'rail',
  'placement', 'latency', 'connection', 'switches'
];
export const kLinks = ['nvswitch', 'nvlink', 'xgmi', 'pcie'];

/** @param {string} text @returns {ClusterLine} */
export function parsed(text) {
  /** @type {ClusterLine} */
  const line = {base: '', nodes: null, words: new Map()};
  for (const word of text.trim().split(/\s+/)) {
    const colon = word.indexOf(':');
    const key = word.slice(0, Math.max(0, colon));
    if (key === 'node')
      line.nodes = Number(word.slice(colon + 1)) || null;
    else if (kWords.includes(key))
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

/**
 * What the program understood, as words: a description to go on from.
 * @param {import('./cluster_form.js').Understood} of
 * @returns {ClusterLine}
 */
export function described({nodes, nodes_per_domain: domain, gpus_per_node, gpu_variant: gpu, intra, network}) {
  /** @type {ClusterLine} */
  const line = {base: '', nodes, words: new Map([['gpu', `${gpus_per_node}x${gpu}`]])};
  if (intra && (gpus_per_node > 1 || domain)) {
    const {kind, per_gpu_gbps: rate, links_per_gpu: links} = intra;
    line.words.set(
      kind,
      kind === 'nvlink' || kind === 'xgmi' ? `${links ?? 1}x${tidy(rate / (links || 1))}GBps` : `${tidy(rate)}GBps`);
  }
  if (domain) line.words.set('domain', String(domain));
  if (network)
    line.words.set('nic', nicWord(network.nics_per_node, 8 * network.per_nic_gbps, network.kind));
  else if (nodes > 1)
    line.words.set('nic', nicWord(1, 100, 'ib'));
  if (network && network.oversubscription > 1) line.words.set('oversubscription', tidy(network.oversubscription));
  return line;
}

/** @param {number} count @param {number} gbps bits @param {string} kind */
export function nicWord(count, gbps, kind) {
  return `${count}x${tidy(gbps)}Gbps:${kind}`;
}

/** @param {number} value */
function tidy(value) {
  return String(Number(value.toPrecision(6)));
}
