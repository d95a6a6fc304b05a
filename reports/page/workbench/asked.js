// The question: a job, its cluster and its options. The page's address holds it; a command line can express the same.

import {parsed, written} from './cluster_line.js';
import {shellWord, words} from './shell.js';

/**
 * @typedef {object} Asked
 * @property {string} workload as on a command line, empty: none yet
 * @property {string} cluster the same
 * @property {Record<string, string>} options by name ("--torch"); a flag's value is empty
 * @property {string} further options no control is for, as typed
 * @property {Record<string, string[]>} dropped of each file that was made here, what it was made of: what to drop again
 */

/**
 * A map by foreign names: `__proto__` is a name like any other.
 * @template T
 * @param {[string, T][]} [entries]
 * @returns {Record<string, T>}
 */
export function byName(entries = []) {
  return Object.assign(Object.create(null), Object.fromEntries(entries));
}

/** @returns {Asked} */
export function nothingAsked() {
  return {workload: '', cluster: '', options: byName(), further: '', dropped: byName()};
}

/**
 * ddpsim.inputs/1: the command of a run and the files it read.
 * @typedef {{given: string[][], files: {name: string, content: string}[]}} Inputs
 * @param {Inputs} inputs
 * @returns {Asked}
 */
export function ofInputs({given, files}) {
  const asked = nothingAsked();
  for (const [name, ...values] of given) {
    if (name === 'WORKLOAD')
      asked.workload = values[0];
    else if (name === 'CLUSTER')
      asked.cluster = values[0];
    else if (values.length <= 1)
      asked.options[name] = values[0] ?? '';
    else
      asked.further += values.map((value) => `${name} ${shellWord(value)} `).join('');
  }
  for (const {name} of files) asked.dropped[name] = [];
  return asked;
}

/**
 * Puts every option where it is shown: options without a control are further options, and nodes belong to the cluster.
 * @param {Asked} asked
 * @param {(option: string) => boolean} controlled
 * @returns {Asked}
 */
export function settled(asked, controlled) {
  let {further} = asked;
  let {cluster} = asked;
  /** @type {Record<string, string>} */
  const options = byName();
  for (const [name, value] of Object.entries(asked.options)) {
    if (name === '--nodes' && Number(value))
      cluster = written({...parsed(cluster), nodes: Number(value)});
    else if (controlled(name))
      options[name] = value;
    else
      further += ` ${name}${value === '' ? '' : ` ${shellWord(value)}`}`;
  }
  return {...asked, cluster, options, further: further.trim()};
}

/** @param {Asked} asked */
export function toAddress({workload, cluster, options, further, dropped}) {
  const parts = new URLSearchParams();
  if (workload) parts.set('workload', workload);
  if (cluster) parts.set('cluster', cluster);
  for (const [name, value] of Object.entries(options)) parts.set(name, value);
  if (further) parts.set('further', further);
  for (const [file, made] of Object.entries(dropped)) parts.append('dropped', JSON.stringify([file, ...made]));
  return parts.toString().replaceAll('%40', '@').replaceAll('%3A', ':');
}

/**
 * Leaves out whatever does not belong to a question. A job or a cluster that begins with a dash would become an option of
 * the command.
 * @param {string} address what stands behind its #
 * @returns {Asked}
 */
export function fromAddress(address) {
  const asked = nothingAsked();
  for (const [name, value] of new URLSearchParams(address)) {
    if (name === 'workload' || name === 'cluster')
      asked[name] = value.startsWith('-') ? '' : value;
    else if (name === 'further')
      asked.further = value;
    else if (/^--[a-z][a-z-]*$/.test(name))
      asked.options[name] = value;
    else if (name === 'dropped') {
      try {
        const [file, ...made] = JSON.parse(value);
        if ([file, ...made].every((one) => typeof one === 'string')) asked.dropped[file] = made;
      } catch {
        // not written by this page
      }
    }
  }
  return asked;
}

/**
 * The arguments of `ddpsim`.
 * @param {string} command
 * @param {Asked} asked
 */
export function argumentsOf(command, {workload, cluster, options, further}) {
  const list = [command, workload, cluster];
  for (const [name, value] of Object.entries(options)) list.push(...(value === '' ? [name] : [name, value]));
  return [...list, ...words(further)];
}

/** @param {string} command @param {Asked} asked */
export function lineOf(command, asked) {
  return ['ddpsim', ...argumentsOf(command, asked)].map(shellWord).join(' ');
}
