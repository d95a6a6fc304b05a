// The form for settings: options of DDP, versions, and further options of the command line.

import {html} from '../src/dom.js';
import {choiceField, flagField, ratioField, textField} from './controls.js';

/** @typedef {import('./asked.js').Asked} Asked */

/** @param {number} mb */
const caps = (mb) => (mb >= 10 ? Math.round(mb) : Number(mb.toPrecision(2)));

const kHooks = {
  fp16: 'fp16_compress_hook',
  bf16: 'bf16_compress_hook',
  powersgd: 'powerSGD_hook',
  post_localSGD: 'post_localSGD_hook'
};

// Options that are visible without unfolding the others.
const kSeen = ['--bucket-cap-mb', '--torch', '--nccl', '--gpu', '--measured-step'];

export class SettingsForm {
  /** @type {Map<string, {set: (value: string | null) => void, wrong: (problem: string) => void}>} */
  byOption = new Map();
  clusterGpu = '';

  /**
   * @param {{torch: {name: string, summary: string}[], changed: (name: string, value: string | null) => void,
   *   further: (text: string) => void}} around
   */
  constructor({torch, changed, further}) {
    this.changed = changed;
    const cap = this.#number(
      '--bucket-cap-mb', 'bucket_cap_mb',
      {from: 0.25, to: 512, perDoubling: 16, round: caps, unit: 'MiB', none: 'default', rests: 25});
    this.cap = html('div', {class: 'cap'}, cap);
    this.gpu = flagField('Transfer the recording to this GPU', (on) => changed('--gpu', on ? this.clusterGpu : null));
    this.byOption.set('--gpu', {set: (value) => this.gpu.set(value !== null), wrong: this.gpu.wrong});
    this.further = textField('Further options', further, {
      placeholder: '--straggler 3:1.2',
      hint: 'Any option that ddpsim simulate --help lists, as typed on a command line.',
      kind: 'wide'
    });
    const measured = this.#text('--measured-step', 'Measured step, without a profiler', {
      placeholder: '104ms',
      hint: 'If you know it: predictions then keep the difference between the measured step and its replay.',
      kind: 'wide'
    });
    const title = html('legend', {}, 'Settings');
    const versions = this.#versions(torch);
    this.element =
      html('fieldset', {class: 'settings'}, title, measured, versions, this.gpu.element, this.#otherSettings());
  }

  /** @param {{name: string, summary: string}[]} torch oldest first */
  #versions(torch) {
    const newest = [...torch].reverse();
    const nccl = [...new Set(torch.map(({summary}) => summary.replace('NCCL ', '')))].reverse();
    const choices = newest.map(({name}) => ({value: name, text: name}));
    return html(
      'div', {class: 'fields'},
      this.#choice('--torch', 'PyTorch', [{value: '', text: 'as recorded, else assumed'}, ...choices]),
      this.#text('--nccl', 'NCCL', {placeholder: 'as PyTorch ships it', suggestions: nccl}));
  }

  #otherSettings() {
    const hooks = Object.entries(kHooks).map(([value, words]) => ({value, text: words}));
    const flow = {value: 'flow', text: 'chunk by chunk over the links (flow)'};
    return html(
      'details', {}, html('summary', {}, 'All settings'),
      this.#number(
        '--first-bucket-mb', 'First bucket',
        {from: 0.25, to: 512, perDoubling: 8, round: caps, unit: 'MiB', none: 'as PyTorch', rests: 1}),
      html(
        'div', {class: 'flags'}, this.#flag('--gradient-as-bucket-view', 'gradient_as_bucket_view'),
        this.#flag('--static-graph', 'static_graph'), this.#flag('--find-unused-parameters', 'find_unused_parameters'),
        this.#flag('--no-broadcast-buffers', 'broadcast_buffers=False'),
        this.#flag('--apply-optimizer-in-backward', 'optimizer in backward'),
        this.#flag('--sync-batchnorm', 'SyncBatchNorm')),
      this.#choice('--comm-hook', 'Communication hook', [{value: '', text: 'none'}, ...hooks]),
      this.#choice('--backend', 'Backend', [{value: '', text: 'nccl'}, {value: 'gloo', text: 'gloo'}]),
      this.#choice('--network', 'Collectives are timed', [{value: '', text: 'by a cost model'}, flow]),
      this.#text('--accumulate', 'Micro-batches per step', {placeholder: '1'}),
      this.#text('--batch', 'Samples per GPU, if not as recorded', {placeholder: 'as recorded'}),
      this.#text('--compute-scale', 'Speed relative to the recorded GPU', {placeholder: '2.3±0.2'}),
      this.further.element);
  }

  /**
   * @param {string} option
   * @param {{element: HTMLElement, wrong: (problem: string) => void}} made its control
   * @param {(value: string | null) => void} set
   */
  #add(option, made, set) {
    this.byOption.set(option, {set, wrong: made.wrong});
    return made.element;
  }

  /** @param {string} option @param {string} label @param {any} how */
  #number(option, label, how) {
    const made = ratioField(label, how, (value) => this.changed(option, value === null ? null : String(value)));
    return this.#add(option, made, (value) => made.set(value === null ? null : Number(value), how.rests));
  }

  /** @param {string} option @param {string} label @param {any} how */
  #text(option, label, how) {
    const made = textField(label, (value) => this.changed(option, value || null), how);
    return this.#add(option, made, (value) => made.set(value ?? ''));
  }

  /** @param {string} option @param {string} label @param {import('./controls.js').Choice[]} choices */
  #choice(option, label, choices) {
    const made = choiceField(label, choices, (value) => this.changed(option, value || null));
    return this.#add(option, made, (value) => made.set(value ?? ''));
  }

  /** @param {string} option @param {string} label */
  #flag(option, label) {
    const made = flagField(label, (on) => this.changed(option, on ? '' : null));
    return this.#add(option, made, (value) => made.set(value !== null));
  }

  /** @param {Asked} asked */
  set({options, further}) {
    for (const [name, {set}] of this.byOption) set(options[name] ?? null);
    this.further.set(further);
    const folded = [...this.byOption.keys()].filter((name) => !kSeen.includes(name));
    const unfolded = folded.some((name) => options[name] !== undefined) || further;
    if (unfolded) this.element.querySelector('details')?.setAttribute('open', '');
  }

  /** @param {string} gpu the cluster's: a recording that is carried over goes there */
  over(gpu) {
    const another = this.clusterGpu && this.clusterGpu !== gpu;
    this.clusterGpu = gpu;
    if (another && this.gpu.control.checked) this.changed('--gpu', gpu);
  }

  /** @param {string} gpu */
  carryOver(gpu) {
    this.gpu.set(true);
    this.changed('--gpu', gpu);
  }

  /**
   * Beside the option it is of; whether there is one.
   * @param {string} problem
   */
  wrong(problem) {
    for (const {wrong} of this.byOption.values()) wrong('');
    this.further.wrong('');
    const named = [...problem.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option);
    // The cluster has another GPU than the recording: one click transfers it.
    const option = named.includes('--gpu') ? '--gpu' : named.find((one) => this.byOption.has(one));
    if (!option) return false;
    const field = this.byOption.get(option);
    field?.wrong(problem);
    const folded = this.element.querySelector('details');
    if (folded?.querySelector('.wrong:not([hidden])')) folded.open = true;
    return true;
  }
}
