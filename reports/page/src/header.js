// The head of a page: the job, the main values, how certain the answer is, and which measurement would help.

import {copyButton} from './card.js';
import {html} from './dom.js';
import {name} from './names.js';

/**
 * @typedef {Pick<import('documents').SimulateResult, 'workload' | 'cluster' | 'ranks' | 'torch' | 'torch_known' | 'nccl' |
 *   'backend' | 'network' | 'scheme' | 'bucket_setting'>} Job
 * @typedef {import('documents').Confidence} Confidence
 * @typedef {import('./facts.js').Fact} Fact
 */

/** @param {Job} asked */
export function jobLine(asked) {
  const parts = [
    html('span', {}, name(asked.workload), ' on ', name(asked.cluster)),
    asked.ranks === 1 ? '1 GPU' : `${asked.ranks} GPUs`,
    `PyTorch ${asked.torch}${asked.torch_known === false ? ' assumed' : ''}`,
    asked.nccl ? `NCCL ${asked.nccl}` : asked.backend,
    asked.network === 'flow' ? 'flow network' : null,
    asked.scheme ? `scheme: ${asked.scheme.name}` : null,
    asked.bucket_setting ? `buckets: ${asked.bucket_setting}` : null,
  ];
  return parts.filter((part) => part !== null);
}

/** @param {string} text @param {string} [what] */
export function codeLine(text, what) {
  return html(
    'div', {class: 'code'}, html('code', {}, name(text, 4000)),
    ...copyButton('Copy', () => text, what ?? `Copy: ${text}`));
}

/** @param {Fact[]} facts */
export function factList(facts) {
  const list = html('dl', {class: 'facts'});
  for (const {figure, label, strong} of facts)
    list.append(html('div', {class: strong && 'strong'}, html('dt', {}, label), html('dd', {}, figure)));
  return list;
}

/**
 * @param {Confidence} confidence
 * @param {Record<string, string>} sources
 */
export function trust(confidence, sources) {
  const next = confidence.measure_next;
  const block = html('section', {class: 'trust', 'aria-label': 'Confidence'});
  block.append(html(
    'div', {class: 'grade'},
    html(
      'span', {class: `badge ${confidence.grade}`, 'aria-label': `confidence ${confidence.grade}`}, confidence.grade),
    html('p', {}, html('strong', {}, `Confidence ${confidence.grade}: `), confidence.provenance ?? '')));
  if (confidence.because.length)
    block.append(html(
      'details', {}, html('summary', {}, `Why ${confidence.grade}`),
      html('ul', {}, ...confidence.because.map((why) => html('li', {}, name(why, 600))))));
  if (next)
    block.append(html(
      'div', {class: 'next'},
      html(
        'p', {}, html('strong', {}, 'To narrow the interval, measure. '),
        'The largest source of uncertainty is: ', html('b', {}, sources[next.source] ?? next.source), '. First'),
      codeLine(next.command, 'Copy what to measure'), html('p', {}, 'then'),
      codeLine(next.then, 'Copy the command to run then')));
  return block;
}

/** @param {string[]} warnings */
export function warningList(warnings) {
  if (!warnings.length) return null;
  const items = warnings.map((warning) => html('li', {}, name(warning, 1000)));
  const most = 2;
  const block = html('section', {class: 'warnings', 'aria-label': 'Warnings'}, html('ul', {}, ...items.slice(0, most)));
  if (items.length > most)
    block.append(
      html('details', {}, html('summary', {}, `${items.length - most} more`), html('ul', {}, ...items.slice(most))));
  return block;
}
