// Where it is not known which PyTorch runs, or what a replay misses: what would be advised in each case.

import {cardElement} from './card.js';
import {milliseconds} from './units.js';

/** @typedef {import('./documents.js').Tune} Tune */

/** @param {string} action @param {number | null} cap */
function advised(action, cap) {
  return action === 'set' ? (cap === null ? 'pass no cap' : `set ${cap} MiB`) : action;
}

/** @param {Tune} tune */
export function casesCards(tune) {
  const {show} = milliseconds;
  const gain = [
    {title: 'gain', unit: 'ms', show},
    {title: 'low', unit: 'ms', show},
    {title: 'high', unit: 'ms', show},
  ];
  const figures = (/** @type {import('./documents.js').Gain | null} */ one) => (one ? [one.value, one.low, one.high].map(milliseconds.of) : [null, null, null]);
  return [
    tune.recommended_by_version?.length
      ? cardElement({
          title: 'By PyTorch’s version, which nothing tells',
          half: true,
          tableShown: true,
          body: [],
          table: {
            file: 'versions',
            columns: [{title: 'PyTorch', text: true}, {title: 'advice', text: true}, ...gain],
            rows: tune.recommended_by_version.map((one) => [one.torch_to === null ? `${one.torch_from} and newer` : one.torch_from === one.torch_to ? one.torch_from : `${one.torch_from} to ${one.torch_to}`, advised(one.action, one.bucket_cap_mb), ...figures(one.gain_us)]),
          },
        })
      : null,
    tune.recommended_by_cause?.length
      ? cardElement({
          title: 'By what the replay of today’s step misses',
          half: true,
          tableShown: true,
          body: [],
          table: {
            file: 'causes',
            columns: [{title: 'it misses', text: true}, {title: 'advice', text: true}, ...gain],
            rows: tune.recommended_by_cause.map((one) => [one.cause, advised(one.action, one.bucket_cap_mb), ...figures(one.gain_us)]),
          },
        })
      : null,
  ];
}
