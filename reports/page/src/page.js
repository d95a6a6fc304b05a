// Makes a page of documents: the values at the top, then the cards, in the order in which readers decide.

import {adviceCard} from './advise.js';
import {allReduceCard} from './allreduce.js';
import {bucketCard} from './bucket_table.js';
import {casesCards} from './by_version.js';
import {constantsCard, leftOutCard, notesCard, residualCard} from './calibration.js';
import {capCurveCard} from './cap_curve.js';
import {cardElement} from './card.js';
import {costCard, lossesCard, ranked, speedCard} from './compare.js';
import {html} from './dom.js';
import {efficiencyCard} from './efficiency.js';
import {facts} from './facts.js';
import {codeLine, factList, jobLine, trust, warningList} from './header.js';
import {memoryCard} from './memory.js';
import {name} from './names.js';
import {recordedCard} from './recorded.js';
import {scalingCard} from './scaling.js';
import {timelineCard} from './timeline.js';
import {tornadoCard} from './tornado.js';
import {bytes, time} from './units.js';
import {validationCard} from './validation.js';

/**
 * @typedef {import('./envelope.js').Envelope} Envelope
 * @typedef {import('./envelope.js').Documents} Documents
 */

/** @param {Documents} documents */
function jobOf({tune, advice, result, compare, allreduce, calibration, validation}) {
  const asked = tune ?? advice ?? result;
  if (asked) return jobLine(asked);
  if (compare)
    return jobLine({...compare, cluster: `${compare.rows.length} candidates`, ranks: 0})
      .filter((part) => part !== '0 GPUs');
  if (allreduce)
    return [
      html('span', {}, name(allreduce.cluster)), `${allreduce.nodes} × ${allreduce.gpus_per_node} ${allreduce.gpu}`,
      `NCCL ${allreduce.nccl}`
    ];
  if (calibration) return [html('span', {}, name(calibration.cluster), ', written to ', name(calibration.output))];
  return validation ? [html('span', {}, name(validation.predicted), ' against ', name(validation.measured))] : [];
}

/** @param {{bucket_cap_mb: number | null, first_bucket_mb: number | null}} setting */
function settingOf(setting) {
  const parts = [];
  if (setting.bucket_cap_mb !== null) parts.push(`bucket_cap_mb=${setting.bucket_cap_mb}`);
  if (setting.first_bucket_mb !== null) parts.push(`a first bucket of ${setting.first_bucket_mb} MiB`);
  return parts.join(' and ') || `PyTorch's default`;
}

/** @param {Envelope} envelope */
export function header(envelope) {
  const {documents, verdict, words} = envelope;
  const {tune, advice, result, compare, allreduce} = documents;
  const trusted = tune ?? advice ?? result ?? allreduce;
  const block = html('header', {});
  const job = html('p', {class: 'job'});
  for (const part of jobOf(documents)) job.append(part instanceof Node ? part : html('span', {}, part));
  block.append(job, html('h1', {}, name(verdict, 500)));
  if (tune?.recommended.action === 'set' && tune.recommended.python) {
    block.append(codeLine(tune.recommended.python, 'Copy the line to write'));
    if (tune.recommended.reason)
      block.append(html('p', {class: 'why'}, html('strong', {}, 'Why: '), name(tune.recommended.reason, 600), '.'));
  }
  const first = tune?.recommended.measure_first;
  if (first) {
    block.append(codeLine(first.command, 'Copy the command to run'));
    if (first.set_up_to_us !== null)
      block.append(html(
        'p', {class: 'why'}, html('strong', {}, 'What it decides: '),
        `if its time for ${bytes(first.deciding_bytes)} is at most ${time(first.set_up_to_us, 2)} ` +
          `(${time(first.predicted_us, 2)} predicted), set ${settingOf(first)}. ` +
          'If it is longer, keep the current setting.'));
  }
  const other = tune?.better_lever;
  if (other?.gain_us)
    block.append(
      html(
        'p', {class: 'why'}, html('strong', {}, 'Another setting saves more: '), name(other.levers.join(' + ')),
        `, ${time(other.gain_us.value)} a step.`),
      codeLine(other.line, 'Copy the line of the better setting'));
  block.append(factList(facts(documents)));
  const shown = trusted ?? compare ?? documents.calibration ?? documents.validation;
  const warned = warningList(shown?.warnings ?? []);
  if (warned) block.append(warned);
  if (trusted)
    block.append(trust(trusted.confidence, words.sources));
  else if (compare)
    block.append(trust(ranked(compare)[0].confidence, words.sources));
  return block;
}

/**
 * Marks a card that does not describe the current step alone, so that a page with several steps recognises it.
 * @param {HTMLElement | null} card
 */
function ofTune(card) {
  if (card) card.dataset.of = 'tune';
  return card;
}

/**
 * @param {Envelope} envelope
 * @param {import('./timeline.js').TimelineCard | null} timeline
 * @param {(title: string) => HTMLElement | undefined} standing cards of `tune` that need not be drawn anew
 */
function cards({documents, words}, timeline, standing) {
  const {result, tune, advice, compare, allreduce, calibration, validation} = documents;
  const select = timeline ? (/** @type {number} */ index) => timeline.selectBucket(index) : undefined;
  return [
    tune && (standing('Step time by bucket cap') ?? ofTune(capCurveCard(tune))),
    advice && adviceCard(advice),
    ...(
      compare
        ? [speedCard(compare), scalingCard(compare), costCard(compare), lossesCard(compare, words.causes), recordedCard(compare.recorded)]
        : []),
    allreduce && allReduceCard(allreduce, documents.measured_all_reduces),
    ...(
      calibration
        ? [residualCard(calibration), leftOutCard(calibration), constantsCard(calibration), notesCard(calibration)]
        : []),
    validation && validationCard(validation),
    timeline?.element,
    result && efficiencyCard(result, words.causes),
    result && tornadoCard(tune ?? advice ?? result, words.sources),
    result && bucketCard(result, documents.recommended_result ? 'Buckets, current setting' : 'Buckets', select),
    documents.recommended_result &&
      (standing('Buckets, recommended setting') ??
       ofTune(bucketCard(
         documents.recommended_result, 'Buckets, recommended setting',
         timeline ? (index) => timeline.selectBucket(index, true) : undefined))),
    ...(tune ? casesCards(tune).map((card) => card && ofTune(card)) : []),
    result && recordedCard(result.recorded),
    result && memoryCard(result.memory),
  ];
}

/**
 * @param {Envelope} envelope
 * @param {boolean} beside whether it stands beside another half card
 */
function provenance({program, command, text, documents}, beside) {
  const schemas = Object.values(documents).map((document) => /** @type {any} */ (document)?.schema);
  return cardElement({
    title: 'Where this comes from',
    half: beside,
    body: [
      html('p', {}, `${program}. This command makes the same report:`),
      codeLine(command, 'Copy the command'),
      html('p', {class: 'about'}, `Documents in this file: ${[...new Set(schemas)].filter(Boolean).join(', ')}.`),
      html(
        'details', {}, html('summary', {}, 'Terminal output'),
        html('pre', {tabindex: 0, role: 'region', 'aria-label': 'Terminal output'}, text)),
    ],
  });
}

/**
 * @param {Envelope} envelope
 * @param {import('./timeline.js').TimelineCard | null} [kept] a timeline that shows the new step with the same zoom
 * @param {(title: string) => HTMLElement | undefined} [standing] cards of `tune` that need not be drawn anew
 */
export function body(envelope, kept, standing = () => undefined) {
  const timeline = kept?.show(envelope.documents) ? kept : timelineCard(envelope.documents);
  const shown = cards(envelope, timeline, standing).flatMap((card) => card || []);
  const halves = shown.filter((card) => card.classList.contains('half')).length;
  return {cards: [...shown, provenance(envelope, halves % 2 === 1)], timeline};
}

/**
 * The page is a function of these documents alone.
 * @param {Envelope} envelope
 * @returns {HTMLElement}
 */
export function page(envelope) {
  return html('main', {}, header(envelope), html('div', {class: 'grid'}, ...body(envelope).cards));
}
