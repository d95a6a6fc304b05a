// The main values at the head of a page, by the documents it has.

import {ranked} from './compare.js';
import {visible} from './names.js';
import {bytes, digits, grouped, percent, signed, time, timeWithInterval} from './units.js';

/**
 * @typedef {import('./envelope.js').Documents} Documents
 * @typedef {import('./envelope.js').JobAnswer} JobAnswer
 * @typedef {{figure: string, label: string, strong?: boolean}} Fact
 */

/** @param {Documents} documents @returns {Fact[]} */
export function facts(documents) {
  const {result, tune, advice, compare, allreduce, calibration, validation} = documents;
  const asked = tune ?? advice ?? result;
  return [
    ...(tune ? savedFacts(tune) : []),
    ...(result ? stepFacts(result, Boolean(tune), Boolean(tune || advice)) : []),
    ...(asked ? certaintyFacts(asked) : []),
    ...(compare ? fastestFacts(compare) : []),
    ...(allreduce?.rows.length ? allReduceFacts(allreduce) : []),
    ...(calibration ? calibrationFacts(calibration) : []),
    ...(validation ? validationFacts(validation) : []),
  ];
}

/** @param {number[]} interval percent */
function intervalText([low, high]) {
  const text = (/** @type {number} */ value) => digits(value, 2);
  return `${signed(low, text)} to ${signed(high, text)} %`;
}

/** @param {import('documents').TuneResult} tune @returns {Fact[]} */
function savedFacts({recommended}) {
  if (recommended.action !== 'set' || !recommended.gain_us) return [];
  const {figure, interval} = timeWithInterval(recommended.gain_us);
  return [{figure, label: `saved per step, 80 % interval ${interval}`, strong: true}];
}

/**
 * @param {import('documents').SimulateResult} result
 * @param {boolean} tuned whether another value comes first
 * @param {boolean} today whether the page also shows other steps
 * @returns {Fact[]}
 */
function stepFacts(result, tuned, today) {
  const blocked = result.blocking_communication_us;
  const share = percent((100 * blocked) / result.iteration_us);
  const list = [
    {figure: time(result.iteration_us, 4), label: today ? 'current step' : 'step', strong: !tuned},
    {figure: time(blocked), label: `blocked by communication, ${share}`},
  ];
  if (result.overlap !== null) list.push({figure: percent(100 * result.overlap, 3), label: 'of communication hidden'});
  return [...list, ...speedFacts(result)];
}

/**
 * Throughput of a job, as far as it is known.
 * @param {Pick<import('documents').CompareRow, 'samples_per_second' | 'tokens_per_second' | 'model_flops_utilization' |
 *   'scaling_efficiency'>} job
 * @returns {Fact[]}
 */
function speedFacts({samples_per_second, tokens_per_second, model_flops_utilization, scaling_efficiency}) {
  /** @type {Fact[]} */
  const list = [];
  if (samples_per_second)
    list.push({figure: `${grouped(digits(samples_per_second, 4))} samples/s`, label: 'all GPUs together'});
  if (tokens_per_second)
    list.push({figure: `${grouped(digits(tokens_per_second, 4))} tokens/s`, label: 'all GPUs together'});
  if (model_flops_utilization)
    list.push({figure: percent(100 * model_flops_utilization, 3), label: 'model FLOPs utilization (MFU)'});
  if (scaling_efficiency) list.push({figure: percent(100 * scaling_efficiency, 3), label: 'scaling efficiency'});
  return list;
}

/** @param {JobAnswer} asked @returns {Fact[]} */
function certaintyFacts({confidence, replay}) {
  const list = [{figure: intervalText(confidence.interval_percent), label: '80 % interval of the step'}];
  if (!replay) return list;
  const label = `measured step; its replay takes ${time(replay.predicted_us, 4)}`;
  return [...list, {figure: time(replay.measured_us, 4), label}];
}

/** @param {import('./envelope.js').CompareResult} compare @returns {Fact[]} */
function fastestFacts(compare) {
  const [fastest] = ranked(compare);
  const label = compare.fastest_is_certain ? 'fastest, certain' : 'fastest, not certain';
  return [
    {figure: visible(fastest.label, 40), label, strong: true},
    {figure: time(fastest.iteration_us, 4), label: 'step of the fastest'},
    ...speedFacts(fastest),
  ];
}

/** @param {import('documents').AllreduceResult} allreduce @returns {Fact[]} */
function allReduceFacts({rows, confidence}) {
  const [first, last] = [rows[0], rows[rows.length - 1]];
  return [
    {figure: `${digits(last.busbw_gbps)} GB/s`, label: `busbw at ${bytes(last.size_bytes)}`, strong: true},
    {figure: time(first.time_us), label: `time at ${bytes(first.size_bytes)}`},
    {figure: intervalText(confidence.interval_percent), label: '80 % interval of each time'},
  ];
}

/** @param {import('documents').CalibrateResult} calibration @returns {Fact[]} */
function calibrationFacts({calibrated, model_alone: alone}) {
  const list = [
    {figure: percent(calibrated.median_abs_error_percent), label: 'median error, calibrated', strong: true},
    {figure: percent(calibrated.p90_abs_error_percent), label: 'p90'},
  ];
  if (alone) list.push({figure: percent(alone.median_abs_error_percent), label: 'median error without calibration'});
  if (calibrated.sizes !== undefined) list.push({figure: String(calibrated.sizes), label: 'sizes compared'});
  if (calibrated.times !== undefined) list.push({figure: String(calibrated.times), label: 'times compared'});
  return list;
}

/** @param {import('documents').ValidateResult} validation @returns {Fact[]} */
function validationFacts(validation) {
  const {median_abs_error_percent: median, p90_abs_error_percent: p90, worst_abs_error_percent: worst} = validation;
  const list = [
    {figure: percent(median), label: 'median error', strong: true},
    {figure: percent(p90), label: 'p90'},
    {figure: percent(worst), label: `worst: ${visible(validation.worst_name, 60)}`},
  ];
  const {intervals} = validation;
  if (intervals.given)
    list.push(
      {figure: `${intervals.hold} of ${intervals.given}`, label: 'measured values inside their predicted interval'});
  return list;
}
