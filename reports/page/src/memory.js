// The parts of a GPU's memory at its peak.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {bytes} from './units.js';

/** @typedef {import('documents').Memory} Memory */

/** @param {string} at */
function when(at) {
  if (at === 'optimizer') return 'while the optimizer steps';
  return at === 'backward' ? 'in backward' : `at DDP’s ${at}`;
}

/** @param {Memory | null | undefined} memory */
export function memoryCard(memory) {
  if (!memory) return null;
  const parts =
    Object.entries(memory.parts)
      .filter(([, size]) => size !== null && size > 0)
      .sort((a, b) => Number(b[1]) - Number(a[1]));
  const words = (/** @type {string} */ key) => key.replace(/_bytes$/, '').replace(/_/g, ' ').replace('nccl', 'NCCL');
  const known = memory.peak_bytes !== null;
  const size = known
    ? bytes(Number(memory.peak_bytes))
    : `at least ${bytes(memory.at_least_bytes)}, without activations, whose size is unknown`;
  return cardElement({
    title: 'Memory of a GPU',
    about: `At its peak, ${when(memory.at)}: ${size}.`,
    half: true,
    body: [
      barChart({
        domain: [0, Math.max(1, ...parts.map(([, size]) => Number(size))) * 1.02],
        label: 'What takes memory at the peak',
        bars: parts.map(
          ([key, size]) => ({label: words(key), from: 0, to: Number(size), tone: 'plain', text: bytes(Number(size))})),
      }),
    ],
    table: {
      file: 'memory',
      columns: [
        {title: 'part', text: true},
        {title: 'size', unit: 'bytes', show: (value) => String(value)},
      ],
      rows: parts.map(([key, size]) => [words(key), size]),
    },
  });
}
