// The recommendation for each PyTorch version if the version is unknown, and for each attribution of what a replay
// misses.

import {cardElement} from './card.js';
import {milliseconds} from './units.js';

/** @typedef {import('documents').TuneResult} TuneResult */

/** @param {string} action @param {number | null} cap */
function advised(action, cap) {
  return action === 'set' ? (cap === null ? 'pass no cap' : `set ${cap} MiB`) : action;
}

/** @param {string} from @param {string | null} to */
function versions(from, to) {
  if (to === null) return `${from} and newer`;
  return from === to ? from : `${from} to ${to}`;
}

const {of, show} = milliseconds;

/** @param {import('documents').Interval} gain */
function figures({value, low, high}) {
  return [of(value), of(low), of(high)];
}

/**
 * One row for each case, with its recommendation and gain.
 * @param {string} title
 * @param {{file: string, kind: string, rows: import('./table.js').Value[][] | undefined}} cases
 */
function casesCard(title, {file, kind, rows}) {
  if (!rows?.length) return null;
  /** @type {import('./table.js').Column[]} */
  const columns = [
    {title: kind, text: true},
    {title: 'recommendation', text: true},
    {title: 'gain', unit: 'ms', show},
    {title: 'low', unit: 'ms', show},
    {title: 'high', unit: 'ms', show},
  ];
  return cardElement({title, half: true, tableShown: true, body: [], table: {file, columns, rows}});
}

/** @param {TuneResult} tune */
export function casesCards(tune) {
  return [
    casesCard('Recommendation by PyTorch version (unknown: pass --torch)', {
      file: 'versions',
      kind: 'PyTorch',
      rows: tune.recommended_by_version?.map(
        (one) =>
          [versions(one.torch_from, one.torch_to), advised(one.action, one.bucket_cap_mb), ...figures(one.gain_us)]),
    }),
    casesCard('Recommendation by what the replay misses', {
      file: 'causes',
      kind: 'the replay misses',
      rows: tune.recommended_by_cause?.map(
        (one) => [one.cause, advised(one.action, one.bucket_cap_mb), ...figures(one.gain_us)]),
    }),
  ];
}
