// Where the efficiency goes: from the step of one GPU alone to this step, cause by cause.

import {barChart} from './bars.js';
import {cardElement} from './card.js';
import {counted, decimals, digits, fixed, milliseconds, percent, signed, time, timeUnit} from './units.js';

/**
 * @typedef {import('documents').SimulateResult} SimulateResult
 * @typedef {import('documents').Loss} Loss
 */

const kCommunication = [
  'exposed_all_reduce',
  'exposed_all_gather',
  'exposed_reduce_scatter',
  'exposed_broadcast',
  'buffer_broadcast',
  'sync_batchnorm',
  'model_averaging',
  'used_map',
];
const kDdp = ['copies', 'hooks', 'interference', 'launch_bound'];

/** @param {string} cause */
export function toneOf(cause) {
  if (kCommunication.includes(cause)) return 'exposed';
  if (cause === 'unexplained') return 'overhead';
  return kDdp.includes(cause) ? 'copies' : 'waits';
}

/**
 * The step as one bar: one GPU's own work, then each loss.
 * @param {SimulateResult} result
 * @param {Loss[]} losses
 */
function wholeStep(result, losses) {
  const lost = losses.filter((loss) => loss.us > 0).map((loss) => ({size: loss.us, tone: toneOf(loss.cause)}));
  return barChart({
    domain: [0, result.iteration_us],
    label: `Of the step, ${percent((100 * result.alone_us) / result.iteration_us)} is one GPU's own work`,
    bars: [
      {
        label: 'the whole step',
        from: 0,
        to: result.iteration_us,
        tone: '',
        text: time(result.iteration_us, 4),
        strong: true,
        parts: [{size: result.alone_us, tone: 'backward'}, ...lost],
      },
    ],
  });
}

/**
 * One bar for each cause, from one GPU's step to this step.
 * @param {SimulateResult} result
 * @param {Loss[]} losses
 * @param {Record<string, string>} causes
 */
function lossByLoss(result, losses, causes) {
  const unit = timeUnit(result.iteration_us);
  const places = decimals(Math.max(...losses.map((loss) => Math.abs(loss.us)), 1) / unit.us, 3);
  const shown = (/** @type {number} */ us) => fixed(us / unit.us, places);
  let reached = result.alone_us;
  const bars = losses.map((loss) => {
    const from = reached;
    reached += loss.us;
    return {
      label: causes[loss.cause] ?? loss.cause,
      from,
      to: reached,
      low: from + loss.low_us,
      high: from + loss.high_us,
      tone: toneOf(loss.cause),
      text: `${signed(loss.us, shown)} ${unit.name}`,
    };
  });
  const edges = [result.alone_us, result.iteration_us, ...bars.flatMap((bar) => [bar.from, bar.to, bar.low, bar.high])];
  const low = Math.min(...edges);
  const high = Math.max(...edges);
  const pad = (high - low) * 0.04 || result.iteration_us * 0.01;
  const text = time(result.iteration_us, 4);
  const chart = barChart({
    domain: [low - pad, high + pad],
    zero: result.alone_us,
    label: `What ${counted(losses.length, 'cause')} add to one GPU's step`,
    bars: [...bars, {label: 'step', from: result.alone_us, to: result.iteration_us, tone: 'total', text, strong: true}],
  });
  chart.classList.add('zoomed');
  return chart;
}

/**
 * @param {SimulateResult} result
 * @param {Loss[]} losses
 * @param {Record<string, string>} causes
 * @returns {import('./table.js').Table}
 */
function lossTable(result, losses, causes) {
  const {of, show} = milliseconds;
  const share = (/** @type {number} */ us) => (100 * us) / result.iteration_us;
  return {
    file: 'efficiency',
    columns: [
      {title: 'cause', text: true},
      {title: 'time', unit: 'ms', show},
      {title: 'of the step', unit: '%', show: (value) => digits(Number(value), 3)},
      {title: 'low', unit: 'ms', show},
      {title: 'high', unit: 'ms', show},
    ],
    rows: [
      ['one GPU, without DDP', of(result.alone_us), share(result.alone_us), null, null],
      ...losses.map(
        ({cause, us, low_us, high_us}) => [causes[cause] ?? cause, of(us), share(us), of(low_us), of(high_us)]),
      ['step', of(result.iteration_us), 100, null, null],
    ],
  };
}

/** @param {SimulateResult} result @param {Record<string, string>} causes */
export function efficiencyCard(result, causes) {
  const seen = (/** @type {Loss} */ loss) => Math.abs(loss.us) > result.iteration_us * 1e-6;
  const losses = result.loss.filter(seen).sort((a, b) => b.us - a.us);
  return cardElement({
    title: 'Where the efficiency goes',
    about: `One GPU alone takes ${time(result.alone_us, 4)} a step; ` +
      `in this job it works at ${percent((100 * result.alone_us) / result.iteration_us, 3)} of that speed. ` +
      'Below, enlarged: what each cause adds. Whiskers: 80 % intervals.',
    half: true,
    body: [wholeStep(result, losses), lossByLoss(result, losses, causes)],
    table: lossTable(result, losses, causes),
  });
}
