// Clusters side by side: which trains faster, how surely, and where each loses its efficiency.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {toneOf} from './efficiency.js';
import {html} from './dom.js';
import {legendList} from './legend.js';
import {name} from './names.js';
import {digits, milliseconds, percent, time} from './units.js';

/**
 * @typedef {import('./documents.js').Compare} Compare
 * @typedef {import('./documents.js').CompareRow} CompareRow
 */

/**
 * Training speed where the fastest is 100; it trains `percent` faster.
 * @param {number} percent
 */
function speed(percent) {
  return 100 / (1 + percent / 100);
}

/** @param {CompareRow} row */
function noteOf(row) {
  return [
    `${row.ranks} ${row.ranks === 1 ? 'GPU' : 'GPUs'}`,
    row.samples_per_second ? `${digits(row.samples_per_second)} samples/s` : null,
    row.label === row.cluster ? null : row.cluster
  ].filter(Boolean)
    .join(' · ');
}

/** @param {CompareRow} row */
function bestCap({best_cap: best}) {
  if (!best) return null;
  return best.action === 'set' && best.bucket_cap_mb !== null
    ? `${best.bucket_cap_mb} MiB, saves ${time(best.gain_us.value, 2)}`
    : best.action;
}

/** @param {Compare} compare */
export function speedCard(compare) {
  const rows = compare.by_speed.map((i) => compare.rows[i]);
  const failed = compare.rows.filter((row) => row.error);
  const bars = rows.map((row, i) => {
    const {value, low, high} = row.behind_percent;
    const sole = i === 0 || row.same;
    return {
      label: row.label,
      note: noteOf(row),
      from: 0,
      to: speed(value),
      ...(sole ? {} : {low: speed(high), high: speed(low)}),
      tone: i === 0 ? 'good' : 'backward',
      strong: i === 0,
      text: sole ? (i === 0 ? 'fastest' : 'the same') : `${digits(speed(value), 3)} %`
    };
  });
  /** @type {HTMLElement[]} */
  const body = [barChart({
    domain: [0, Math.max(100, ...bars.map((bar) => bar.high ?? 0)) * 1.02],
    label: `Training speed of ${rows.length} clusters, the fastest 100 %`,
    bars
  })];
  if (failed.length)
    body.push(html(
      'details', {open: true}, html('summary', {}, `${failed.length} could not be compared`),
      html(
        'ul', {}, ...failed.map((row) => html('li', {}, html('b', {}, name(row.label)), ': ', name(row.error, 600))))));
  return cardElement({
    title: 'Training speed',
    about: 'The fastest is 100 %; whiskers are 80 % intervals of what tells each from it.' +
      (compare.fastest_is_certain ? '' : ' Which is fastest is not certain.'),
    body,
    table: {
      file: 'clusters',
      columns: [
        {title: 'cluster', text: true, long: true},
        {title: 'GPUs'},
        {title: 'step', unit: 'ms', show: milliseconds.show},
        {title: 'speed', unit: 'samples/s', show: (value) => digits(Number(value), 4)},
        {title: 'fastest is faster by', unit: '%', show: (value) => digits(Number(value), 3)},
        {title: 'low', unit: '%', show: (value) => digits(Number(value), 3)},
        {title: 'high', unit: '%', show: (value) => digits(Number(value), 3)},
        {title: 'efficiency', unit: '%', show: (value) => digits(Number(value), 3)},
        {title: 'blocked', unit: '%', show: (value) => digits(Number(value), 2)},
        {title: 'best cap', text: true},
        {title: 'confidence', text: true},
      ],
      rows: rows.map(
        (row) =>
          [row.label, row.ranks, milliseconds.of(row.iteration_us), row.samples_per_second, row.behind_percent.value,
           row.behind_percent.low, row.behind_percent.high, 100 * row.scaling_efficiency, 100 * row.blocking_share,
           bestCap(row), row.confidence.grade]),
    },
  });
}

/** @param {Compare} compare @param {Record<string, string>} causes */
export function lossesCard(compare, causes) {
  const rows = compare.by_speed.map((i) => compare.rows[i]);
  const there = Object.keys(causes).filter(
    (cause) =>
      rows.some((row) => row.loss.some((loss) => loss.cause === cause && Math.abs(loss.us) > row.iteration_us * 1e-6)));
  const share = (/** @type {CompareRow} */ row, /** @type {string} */ cause) =>
    (100 * (row.loss.find((loss) => loss.cause === cause)?.us ?? 0)) / row.iteration_us;
  const tones = ['exposed', 'copies', 'optimizer'];
  const byTone = [...there].sort((a, b) => tones.indexOf(toneOf(a)) - tones.indexOf(toneOf(b)));
  const legend = legendList([
    ['backward', 'one GPU’s own work'],
    ['exposed', 'communication'],
    ['copies', 'copies, host, slowed compute'],
    ['optimizer', 'waits for others, unexplained'],
  ]);
  return cardElement({
    title: 'Where the efficiency goes',
    about: 'Each step as 100 %.',
    body: [
      legend,
      barChart({
        domain: [0, 100],
        label: 'Each cluster’s step by what it is lost to',
        bars: rows.map(
          (row) => ({
            label: row.label,
            from: 0,
            to: 100,
            tone: '',
            text: `${percent(100 * row.scaling_efficiency, 3)} efficient`,
            parts: [
              {size: 100 * row.scaling_efficiency, tone: 'backward'},
              ...byTone.map((cause) => ({size: Math.max(0, share(row, cause)), tone: toneOf(cause)}))
            ],
          })),
      }),
    ],
    table: {
      file: 'efficiency',
      columns: [
        {title: 'cluster', text: true, long: true},
        {title: 'own work', unit: '%', show: (value) => digits(Number(value), 3)},
        ...there.map(
          (cause) => ({title: causes[cause], unit: '%', show: (/** @type {any} */ value) => digits(Number(value), 2)}))
      ],
      rows: rows.map((row) => [row.label, 100 * row.scaling_efficiency, ...there.map((cause) => share(row, cause))]),
    },
  });
}

/** @param {Compare} compare */
export function costCard(compare) {
  const rows = compare.by_speed.map((i) => compare.rows[i]).filter((row) => row.cost);
  if (!rows.length) return null;
  const of = (/** @type {CompareRow} */ row) =>
    row.cost.usd ?? row.cost.usd_per_million_tokens ?? row.cost.usd_per_million_samples ?? row.cost.usd_per_1000_steps;
  const what = rows[0].cost.usd           ? 'USD for all that is trained'
    : rows[0].cost.usd_per_million_tokens ? 'USD per million tokens'
    : rows[0].cost.usd_per_million_samples
    ? 'USD per million samples'
    : 'USD per thousand steps';
  const sorted = [...rows].sort((a, b) => of(a).value - of(b).value);
  return cardElement({
    title: 'What it costs',
    about: `${what}, the cheapest first; whiskers by the step's interval. Strong: none is both cheaper and faster.`,
    body: [
      barChart({
        domain: [0, Math.max(...sorted.map((row) => of(row).high)) * 1.02],
        label: what,
        bars: sorted.map(
          (row) => ({
            label: row.label,
            note: row.cost.price ? `${row.cost.price.usd} USD per ${row.cost.price.per.replace('_', ' ')}` : '',
            from: 0,
            to: of(row).value,
            low: of(row).low,
            high: of(row).high,
            tone: row.cost.frontier ? 'good' : 'dull',
            strong: row.cost.frontier,
            text: `${digits(of(row).value, 3)} USD`
          })),
      }),
    ],
    table: {
      file: 'costs',
      columns: [
        {title: 'cluster', text: true, long: true},
        {title: what, show: (value) => digits(Number(value), 4)},
        {title: 'low', unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'high', unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'cluster per hour', unit: 'USD', show: (value) => digits(Number(value), 4)},
      ],
      rows: sorted.map((row) => [row.label, of(row).value, of(row).low, of(row).high, row.cost.usd_per_hour]),
    },
  });
}
