// The form for a job: a file of this page, a bundled job, or an estimate of a model on a GPU.

import {html} from '../src/dom.js';
import {choiceField, textField} from './controls.js';

/** @typedef {{name: string, summary: string}} Row of ddpsim.list/1 */

/** @typedef {Row & {family: string}} ModelRow of ddpsim.list/1 */

const kEstimate = '?';
const kPrecisions = ['fp32', 'tf32', 'amp', 'bf16'];

/**
 * The models in groups, as `ddpsim list` shows them.
 * @param {ModelRow[]} models
 */
function byFamily(models) {
  /** @type {Map<string, {value: string, text: string}[]>} */
  const families = new Map();
  for (const {name, summary, family} of models) {
    if (!families.has(family)) families.set(family, []);
    families.get(family)?.push({value: name, text: `${name}: ${summary.replace(/^.*estimates: /, '')}`});
  }
  return [...families].map(([group, choices]) => ({group, choices}));
}

export class JobForm {
  #workload = '';

  /**
   * @param {{workloads: Row[], models: ModelRow[], gpus: (Row & {model: string})[],
   *   changed: (workload: string) => void}} around
   */
  constructor({workloads, models, gpus, changed}) {
    this.workloads = workloads;
    // A GPU model without a variant, such as A100, means the first of its variants, as in the program.
    this.variant = (/** @type {string} */ name) =>
      (gpus.find((gpu) => gpu.name === name) ?? gpus.find((gpu) => gpu.model === name))?.name ?? name;
    this.changed = changed;
    this.choice = choiceField('Or choose a job', [], (value) => this.#choose(value));
    const again = () => this.#estimated();
    this.model = choiceField('Model', byFamily(models), again);
    this.gpu = choiceField('GPU', gpus.map(({name}) => ({value: name, text: name})), again);
    this.batch = textField('Samples per GPU', again, {placeholder: 'default of the model'});
    this.sequence = textField('Tokens per sample', again, {placeholder: 'default of the model'});
    this.precision = choiceField('Precision', kPrecisions.map((value) => ({value, text: value})), again);
    this.model.set('resnet50');
    this.gpu.set(this.variant('A100'));
    this.estimate = html(
      'div', {class: 'fields', hidden: true}, this.model.element, this.gpu.element, this.precision.element,
      this.batch.element, this.sequence.element);
    this.problem = html('p', {class: 'wrong', role: 'alert', hidden: true});
    this.element = html('div', {class: 'job-form'}, this.choice.element, this.estimate);
    this.set('', []);
  }

  /** @param {string} value */
  #choose(value) {
    this.estimate.hidden = value !== kEstimate;
    if (value === kEstimate) return this.#estimated();
    this.#workload = value;
    this.changed(value);
  }

  #estimated() {
    const [batch, sequence] = [this.batch.control.value.trim(), this.sequence.control.value.trim()];
    const sizes = `${batch && `:b${batch}`}${sequence && `:s${sequence}`}`;
    this.#workload = `${this.model.control.value}@${this.gpu.control.value}${sizes}:${this.precision.control.value}`;
    this.changed(this.#workload);
  }

  /**
   * @param {string} workload
   * @param {string[]} files of this page
   */
  set(workload, files) {
    this.wrong('');
    this.#workload = workload;
    this.choice.offer([
      {value: '', text: 'Choose a bundled job or an estimate …'},
      {value: kEstimate, text: 'No recording: estimate a model on a GPU'},
      ...(files.length ? [{group: 'Your files', choices: files.map((file) => ({value: file, text: file}))}] : []),
      {
        group: 'Recorded or measured',
        choices: this.workloads.map(({name, summary}) => ({value: name, text: `${name}: ${summary}`}))
      },
    ]);
    const estimate = /^([\w.-]+)@([\w-]+)((?::\w+)*)$/.exec(workload);
    this.estimate.hidden = !estimate;
    this.choice.set(estimate ? kEstimate : workload);
    if (!estimate) return;
    this.model.set(estimate[1]);
    this.gpu.set(this.variant(estimate[2]));
    for (const part of estimate[3].split(':').filter(Boolean)) {
      if (/^b\d+$/.test(part))
        this.batch.set(part.slice(1));
      else if (/^s\d+$/.test(part))
        this.sequence.set(part.slice(1));
      else
        this.precision.set(part);
    }
  }

  /** @param {string} problem */
  wrong(problem) {
    this.choice.wrong(problem);
  }
}
