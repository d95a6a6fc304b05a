// What is passed to DDP, which versions run, and what else the command line offers.

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

export class SettingsForm {
  /**
   * @param {{torch: {name: string, summary: string}[], changed: (name: string, value: string | null) => void, further:
   *   (text: string) => void}} around
   */
  constructor({torch, changed, further}) {
    /** @type {Map<string, {set: (value: string | null) => void, wrong: (problem: string) => void}>} */
    this.byOption = new Map();
    const add =
      (/** @type {string} */ option, /** @type {any} */ made, /** @type {(value: string | null) => void} */ set) => {
        this.byOption.set(option, {set, wrong: made.wrong});
        return made.element;
      };
    const number = (/** @type {string} */ option, /** @type {string} */ label, /** @type {any} */ how) => {
      const made = ratioField(label, how, (value) => changed(option, value === null ? null : String(value)));
      return add(option, made, (value) => made.set(value === null ? null : Number(value), how.rests));
    };
    const text = (/** @type {string} */ option, /** @type {string} */ label, /** @type {any} */ how) => {
      const made = textField(label, (value) => changed(option, value || null), how);
      return add(option, made, (value) => made.set(value ?? ''));
    };
    const choice =
      (/** @type {string} */ option, /** @type {string} */ label, /** @type {any[]} */ choices,
       /** @type {string} */ hint = '') => {
        const made = choiceField(label, choices, (value) => changed(option, value || null), hint);
        return add(option, made, (value) => made.set(value ?? ''));
      };
    const flag = (/** @type {string} */ option, /** @type {string} */ label) => {
      const made = flagField(label, (on) => changed(option, on ? '' : null));
      return add(option, made, (value) => made.set(value !== null));
    };

    this.cap = html(
      'div', {class: 'cap'},
      number(
        '--bucket-cap-mb', 'bucket_cap_mb',
        {from: 0.25, to: 512, perDoubling: 16, round: caps, unit: 'MiB', none: 'default', rests: 25}));
    this.changed = changed;
    this.clusterGpu = '';
    this.gpu = flagField('Carry the recording over to this GPU', (on) => changed('--gpu', on ? this.clusterGpu : null));
    this.byOption.set('--gpu', {set: (value) => this.gpu.set(value !== null), wrong: this.gpu.wrong});
    this.further = textField('Further options', further, {
      placeholder: '--straggler 3:1.2',
      hint: 'Any that ddpsim simulate --help lists, as on a command line.',
      kind: 'wide'
    });
    const nccl = [...new Set(torch.map(({summary}) => summary.replace('NCCL ', '')))].reverse();
    const newest = [...torch].reverse();
    this.element = html(
      'fieldset', {class: 'settings'}, html('legend', {}, 'Settings'),
      text('--measured-step', 'Today’s step, measured without a profiler', {
        placeholder: '104ms',
        hint: 'Where you know it: then it is the answer, and what the replay misses is carried along.',
        kind: 'wide'
      }),
      html(
        'div', {class: 'fields'},
        choice(
          '--torch', 'PyTorch',
          [{value: '', text: 'as recorded, else assumed'}, ...newest.map(({name}) => ({value: name, text: name}))]),
        text('--nccl', 'NCCL', {placeholder: 'as PyTorch ships it', suggestions: nccl})),
      this.gpu.element,
      html(
        'details', {}, html('summary', {}, 'All settings'),
        number(
          '--first-bucket-mb', 'First bucket',
          {from: 0.25, to: 512, perDoubling: 8, round: caps, unit: 'MiB', none: 'as PyTorch', rests: 1}),
        html(
          'div', {class: 'flags'}, flag('--gradient-as-bucket-view', 'gradient_as_bucket_view'),
          flag('--static-graph', 'static_graph'), flag('--find-unused-parameters', 'find_unused_parameters'),
          flag('--no-broadcast-buffers', 'broadcast_buffers=False'),
          flag('--apply-optimizer-in-backward', 'optimizer in backward'), flag('--sync-batchnorm', 'SyncBatchNorm')),
        choice(
          '--comm-hook', 'Communication hook',
          [{value: '', text: 'none'}, ...Object.entries(kHooks).map(([value, words]) => ({value, text: words}))]),
        choice('--backend', 'Backend', [{value: '', text: 'nccl'}, {value: 'gloo', text: 'gloo'}]),
        choice(
          '--network', 'Collectives are timed',
          [{value: '', text: 'by a cost model'}, {value: 'flow', text: 'chunk by chunk over the links (flow)'}]),
        text('--accumulate', 'Micro-batches of a step', {placeholder: '1'}),
        text('--batch', 'Samples of each GPU, where not as recorded', {placeholder: 'as recorded'}),
        text('--compute-scale', 'Speed beside the GPU recorded on', {placeholder: '2.3±0.2'}), this.further.element));
  }

  /** @param {Asked} asked */
  set({options, further}) {
    for (const [name, {set}] of this.byOption) set(options[name] ?? null);
    this.further.set(further);
    const unfolded =
      [...this.byOption.keys()].some(
        (name) => options[name] !== undefined &&
          !['--bucket-cap-mb', '--torch', '--nccl', '--gpu', '--measured-step'].includes(name)) ||
      further;
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
    // Another GPU than the recording's: one click answers.
    const option = named.includes('--gpu') ? '--gpu' : named.find((one) => this.byOption.has(one));
    if (!option) return false;
    const field = this.byOption.get(option);
    field?.wrong(problem);
    const folded = this.element.querySelector('details');
    if (folded?.querySelector('.wrong:not([hidden])')) folded.open = true;
    return true;
  }
}
