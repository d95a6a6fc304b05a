// Clusters side by side: which trains faster, how certain that is, what each costs, and where it loses efficiency.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {frontierChart} from './frontier.js';
import {toneOf} from './efficiency.js';
import {html} from './dom.js';
import {having} from './having.js';
import {legendList} from './legend.js';
import {name} from './names.js';
import {digits, grouped, milliseconds, percent, time} from './units.js';

/**
 * @typedef {import('./envelope.js').CompareResult} CompareResult
 * @typedef {import('documents').CompareRow} CompareRow
 * @typedef {ReturnType<typeof ranked>[number]} RankedRow
 */

/**
 * The candidates that were compared, the fastest first.
 * @param {CompareResult} compare
 */
export function ranked(compare) {
  return having(
    compare.by_speed.map((i) => compare.rows[i]), 'iteration_us', 'samples_per_second', 'scaling_efficiency',
    'blocking_share', 'loss', 'confidence', 'behind_percent');
}

/**
 * Training speed in percent of the fastest, which trains `percent` faster.
 * @param {number} percent
 */
function speed(percent) {
  return 100 / (1 + percent / 100);
}

/** @param {CompareRow} row */
function noteOf(row) {
  return [
    `${row.ranks} ${row.ranks === 1 ? 'GPU' : 'GPUs'}`,
    row.samples_per_second ? `${grouped(digits(row.samples_per_second))} samples/s` : null,
    row.label === row.cluster ? null : row.cluster
  ].filter(Boolean)
    .join(' · ');
}

/** @param {CompareRow} row */
function bestCap({best_cap: best}) {
  if (!best) return null;
  const {action, bucket_cap_mb: cap, gain_us: gain} = best;
  return action === 'set' && cap && gain ? `${cap} MiB, saves ${time(gain.value, 2)}` : action;
}

/** @param {RankedRow} row percent; null where the step takes no time */
function efficiencyOf({scaling_efficiency: share}) {
  return share === null ? null : 100 * share;
}

/** @param {CompareResult} compare */
export function speedCard(compare) {
  const rows = ranked(compare);
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
      tone: i === 0 ? 'good' : 'plain',
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
    about: 'In percent of the fastest. Whiskers: 80 % interval of the difference to it.' +
      (compare.fastest_is_certain ? '' : ' Which cluster is fastest is not certain.'),
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
        {title: 'blocked by communication', unit: '%', show: (value) => digits(Number(value), 2)},
        {title: 'best cap', text: true},
        {title: 'confidence', text: true},
      ],
      rows: rows.map(
        (row) =>
          [row.label, row.ranks, milliseconds.of(row.iteration_us), row.samples_per_second, row.behind_percent.value,
           row.behind_percent.low, row.behind_percent.high, efficiencyOf(row), 100 * row.blocking_share, bestCap(row),
           row.confidence.grade]),
    },
  });
}

/** @param {CompareResult} compare @param {Record<string, string>} causes */
export function lossesCard(compare, causes) {
  const rows = ranked(compare);
  const there = Object.keys(causes).filter(
    (cause) =>
      rows.some((row) => row.loss.some((loss) => loss.cause === cause && Math.abs(loss.us) > row.iteration_us * 1e-6)));
  const share = (/** @type {RankedRow} */ row, /** @type {string} */ cause) =>
    (100 * (row.loss.find((loss) => loss.cause === cause)?.us ?? 0)) / row.iteration_us;
  const tones = ['exposed', 'copies', 'waits', 'overhead'];
  const byTone = [...there].sort((a, b) => tones.indexOf(toneOf(a)) - tones.indexOf(toneOf(b)));
  const legend = legendList([
    ['backward', 'one GPU’s own work'],
    ['exposed', 'exposed communication'],
    ['copies', 'copies, host, slowed compute'],
    ['waits', 'slower ranks, input, other'],
    ['overhead', 'multi-GPU overhead'],
  ]);
  return cardElement({
    title: 'Where the efficiency goes',
    about: 'Parts of each step, in percent.',
    body: [
      legend,
      barChart({
        domain: [0, 100],
        label: 'Parts of each cluster’s step',
        bars: rows.map(
          (row) => ({
            label: row.label,
            from: 0,
            to: 100,
            tone: '',
            text: `${percent(efficiencyOf(row) ?? 0, 3)} efficient`,
            parts: [
              {size: efficiencyOf(row) ?? 0, tone: 'backward'},
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
      rows: rows.map((row) => [row.label, efficiencyOf(row), ...there.map((cause) => share(row, cause))]),
    },
  });
}

/** @param {CompareResult} compare */
export function costCard(compare) {
  const rows = ranked(compare).flatMap(({label, cost}) => {
    const amount =
      cost?.usd ?? cost?.usd_per_million_tokens ?? cost?.usd_per_million_samples ?? cost?.usd_per_1000_steps;
    return cost && amount ? [{label, cost, amount}] : [];
  });
  if (!rows.length) return null;
  const what = rows[0].cost.usd           ? 'all that is trained'
    : rows[0].cost.usd_per_million_tokens ? 'a million tokens'
    : rows[0].cost.usd_per_million_samples
    ? 'a million samples'
    : 'a thousand steps';
  const sorted = [...rows].sort((a, b) => a.amount.value - b.amount.value);
  const most = Math.max(...sorted.map((row) => row.amount.high));
  const few = sorted.filter(({cost}) => cost.frontier).length;
  return cardElement({
    title: 'Cost against time',
    about: `USD and time for ${what}. Green: no other candidate is both cheaper and faster. ` +
      'Thin lines and whiskers: 80 % intervals.',
    body: [
      legendList([
        ['best', few > 1 ? 'frontier' : 'cheapest and fastest'],
        ...(
          few < sorted.length ? /** @type {[string, string][]} */ ([['dull', 'another is both cheaper and faster']])
                              : [])
      ]),
      ...(
        sorted.length > 1
          ? [frontierChart(sorted.map(
              ({label, cost, amount}) =>
                ({label, frontier: cost.frontier, usd: amount, usdPerHour: cost.usd_per_hour})))]
          : []),
      barChart({
        domain: [0, most * 1.02],
        label: `USD for ${what}, the cheapest first`,
        bars: sorted.map(
          (row) => ({
            label: row.label,
            note: `${row.cost.price.usd} USD per ${row.cost.price.per.replace('_', ' ')}`,
            from: 0,
            to: row.amount.value,
            low: row.amount.low,
            high: row.amount.high,
            tone: row.cost.frontier ? 'good' : 'dull',
            strong: row.cost.frontier,
            text: `${grouped(digits(row.amount.value, 3))} USD`
          })),
      }),
    ],
    table: {
      file: 'costs',
      columns: [
        {title: 'cluster', text: true, long: true},
        {title: `cost of ${what}`, unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'low', unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'high', unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'cluster per hour', unit: 'USD', show: (value) => digits(Number(value), 4)},
        {title: 'time', unit: 'hours', show: (value) => digits(Number(value), 3)},
        {title: 'frontier', text: true},
      ],
      rows: sorted.map(
        ({label, cost, amount}) =>
          [label, amount.value, amount.low, amount.high, cost.usd_per_hour, amount.value / cost.usd_per_hour,
           cost.frontier ? 'yes' : 'no']),
    },
  });
}
