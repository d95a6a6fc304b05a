// The workbench: controls make a question, the program answers it, cards show the answer.

import {html} from '../src/dom.js';
import {codeLine} from '../src/header.js';
import {name, visible} from '../src/names.js';
import {Answer} from './answer.js';
import {byName, fromAddress, lineOf, nothingAsked, ofInputs, settled, toAddress} from './asked.js';
import {Asking} from './asking.js';
import {ClusterForm} from './cluster_form.js';
import {knowWords, parsed} from './cluster_line.js';
import {Intake} from './intake.js';
import {JobForm} from './job_form.js';
import {SettingsForm} from './settings_form.js';
import {Store} from './store.js';

/**
 * @typedef {import('../engine/engine.js').Engine} Engine
 * @typedef {import('../src/envelope.js').Envelope} Envelope
 * @typedef {import('./asked.js').Asked} Asked
 * @typedef {import('./asked.js').Inputs} Inputs
 * @typedef {import('./intake.js').Taken} Taken
 * @typedef {{name: string, summary: string}} Row of ddpsim.list/1
 *
 * @typedef {object} Lists ddpsim.list/1
 * @property {(Row & {family: string})[]} models
 * @property {Row[]} workloads
 * @property {Row[]} clusters
 * @property {import('./cluster_line.js').Word[]} cluster_words
 * @property {(Row & {model: string})[]} gpus
 * @property {Row[]} torch
 */

// Milliseconds without a change before the address is updated, which costs more than a frame.
const kAddressed = 100;
// First bytes of a workload, which name its GPU.
const kHead = 4096;

/**
 * The model of a GPU, by which clusters are offered.
 * @param {{model: string}[]} gpus
 * @param {string} workload
 */
function gpuNamed(gpus, workload) {
  const words = workload.toLowerCase().split(/[-@:]/);
  return gpus.find(({model}) => words.includes(model.toLowerCase()))?.model ?? '';
}

/** @param {ArrayBuffer | Uint8Array} head of a workload file */
function gpuOf(head) {
  return /"gpu"\s*:\s*"([^"]*)"/.exec(new TextDecoder().decode(head))?.[1] ?? '';
}

/**
 * The first question: from the address, else from the command that wrote the page.
 * @param {Inputs | null} inputs
 */
function firstAsked(inputs) {
  if (location.hash.length > 1) return fromAddress(location.hash.slice(1));
  return inputs ? ofInputs(inputs) : nothingAsked();
}

export function question() {
  return html(
    'div', {class: 'question'},
    html('h1', {}, 'How long does a step of your DDP job take, and would another bucket_cap_mb make it faster?'),
    html(
      'p', {class: 'lead'},
      'Drop a profiler trace or choose a job. Choose the cluster. Then move the cap and watch the step.'));
}

export class Workbench {
  #store = new Store();
  #answer = new Answer();
  #status = html('p', {class: 'status', role: 'status'});
  #refusal = html('div', {class: 'wrong', role: 'alert', hidden: true});
  #lines = html('div', {class: 'lines'});
  /**
   * The command that makes a file of this page.
   * @type {Map<string, string>}
   */
  #made = new Map();
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #addressed;

  /**
   * @param {{quick: Engine, slow: Engine}} running one that answers at once, one that may be stopped
   * @param {Lists} lists
   * @param {Inputs | null} inputs
   * @param {Envelope | null} before what a command has answered already
   */
  constructor(running, lists, inputs, before) {
    this.running = running;
    this.lists = lists;
    knowWords(lists.cluster_words);
    for (const {name, content} of inputs?.files ?? []) this.#store.put(name, new TextEncoder().encode(content));
    this.asked = firstAsked(inputs);
    this.answered = location.hash.length > 1 ? null : before;
    const files = () => this.#store.all();
    this.asking = new Asking(running, files, {
      begins: (what) => void (this.#status.textContent = what === 'tune' ? 'Comparing all caps …' : 'Simulating …'),
      answered: (envelope, what, of, ms) => this.#showAnswer(envelope, what, of, ms),
      refused: (problem) => this.#refuse(problem),
    });
    this.intake = new Intake({
      engine: running.slow,
      store: this.#store,
      models: lists.models.map((one) => one.name),
      cluster: () => this.asked.cluster,
      begins: () => this.asking.stop(),
      taken: (taken) => this.#take(taken),
    });
    this.job = new JobForm({...lists, changed: (workload) => this.#ask({workload})});
    this.cluster = new ClusterForm({
      engine: running.quick,
      files,
      clusters: lists.clusters,
      words: lists.cluster_words,
      gpus: lists.gpus,
      understood: ({gpu}) => this.settings.over(gpu),
      refused: () => this.job.wrong(''),
      changed: (cluster) => {
        this.asked.cluster = cluster;
        if (cluster) this.intake.clusterChosen();
        this.#changed();
      },
    });
    this.settings = new SettingsForm({
      torch: lists.torch,
      changed: (option, value) => this.#setOption(option, value),
      further: (text) => {
        this.asked.further = text;
        this.#changed();
      },
    });
    this.#showToTests();
  }

  /** For tests: milliseconds of the program and of drawing for each answer, the engine, and its arguments. */
  #showToTests() {
    const {quick} = this.running;
    Object.assign(this.#answer.element, {
      times: [],
      run: (/** @type {string[]} */ args, /** @type {any[]} */ given) => quick.run(args, given),
      asks: (/** @type {'simulate' | 'tune'} */ command) => this.asking.run(quick, command, this.asked),
    });
  }

  /** Replaces what was shown while the engine started. */
  async begin() {
    addEventListener('hashchange', () => {
      this.asked = fromAddress(location.hash.slice(1));
      void this.#show();
    });
    document.querySelector('main')?.replaceWith(this.#laidOut());
    const before = this.answered;
    if (before) this.#answer.show(before, before.documents.tune ? 'tune' : 'simulate', this.asked);
    await this.#show();
  }

  #laidOut() {
    const example = html(
      'button',
      {type: 'button', class: 'example', onclick: () => this.#ask({workload: 'resnet50-v100-b32', cluster: 'dgx1v@4'})},
      'Look at an example: ResNet-50, recorded on a V100, on four DGX-1');
    const {drop, outcome} = this.intake;
    const jobSet =
      html('fieldset', {class: 'job-set'}, html('legend', {}, 'The job'), drop, outcome, this.job.element, example);
    const title = 'The same on a command line';
    const command = html('section', {class: 'command', 'aria-label': title}, html('h2', {}, title), this.#lines);
    const looks = {
      class: 'panel',
      'aria-label': 'Job and settings',
      onsubmit: (/** @type {Event} */ event) => event.preventDefault()
    };
    const panel = html('form', looks, jobSet, this.cluster.element, this.settings.element, command);
    // The slider for the bucket cap stands directly above the answer, so that both are in view while it moves.
    const bar = html('div', {class: 'strip'}, this.settings.cap, this.#status, this.#refusal);
    const beside = html('div', {class: 'beside'}, bar, this.#answer.element);
    return html('main', {class: 'workbench'}, question(), html('div', {class: 'bench'}, panel, beside));
  }

  /** @param {Envelope} envelope @param {'simulate' | 'tune'} what @param {Asked} of @param {number} ms */
  #showAnswer(envelope, what, of, ms) {
    const begun = performance.now();
    this.#refusal.hidden = true;
    this.settings.wrong('');
    this.job.wrong('');
    this.#answer.show(envelope, what, of);
    document.title = `${visible(envelope.verdict, 120)} (ddpsim)`;
    this.#status.textContent = what === 'tune' ? 'All caps compared.' : 'Simulated.';
    /** @type {any} */ (this.#answer.element).times?.push({what, ms, drawn: performance.now() - begun});
  }

  /** @param {string} problem */
  #refuse(problem) {
    const words = problem.replace(/^ddpsim: /, '');
    this.#status.textContent = '';
    this.#answer.stale(true);
    if (!this.settings.wrong(words) && !this.cluster.refuses) this.job.wrong(words);
    this.#refusal.replaceChildren(name(words, 2000));
    const gpu = / --gpu ([\w-]+)$/.exec(words)?.[1];
    const carryOver = {type: 'button', onclick: () => gpu && this.settings.carryOver(gpu)};
    if (gpu) this.#refusal.append(' ', html('button', carryOver, `Estimate it layer by layer for ${gpu}`));
    this.#refusal.hidden = false;
  }

  /** @param {Taken} taken files that came in */
  #take({of, file, dropped, command}) {
    if (file) {
      this.asked.dropped[file] = dropped;
      if (command) this.#made.set(file, command);
    }
    const {nodes} = parsed(this.asked.cluster);
    if (of === 'workload')
      this.asked.workload = file;
    else if (file)
      this.asked.cluster = nodes ? `${file}@${nodes}` : file;
    void this.#show();
  }

  /** @param {Partial<Asked>} change */
  #ask(change) {
    Object.assign(this.asked, change);
    void this.#show();
  }

  /** @param {string} option @param {string | null} value null: as without it */
  #setOption(option, value) {
    if (value === null)
      delete this.asked.options[option];
    else
      this.asked.options[option] = value;
    this.#changed();
  }

  /** Files of the question that the page does not have. */
  #missing() {
    const {workload, cluster, dropped} = this.asked;
    const files = Object.keys(dropped).filter((file) => !this.#store.has(file));
    return files.filter((file) => workload === file || parsed(cluster).base === file);
  }

  /** Asks again, and updates all places that show the question. */
  #changed() {
    const {asked, intake} = this;
    const missing = this.#missing();
    const complete = Boolean(asked.workload && asked.cluster) && !missing.length;
    let stage = asked.cluster ? 'answer' : 'cluster';
    if (missing.length || !(asked.workload || intake.waits)) stage = 'job';
    document.body.dataset.stage = stage;
    const used = [...new Set([asked.workload, parsed(asked.cluster).base])];
    asked.dropped = byName(Object.entries(asked.dropped).filter(([file]) => used.includes(file)));
    clearTimeout(this.#addressed);
    // A page inside a notebook has no address of its own.
    if (location.href !== 'about:srcdoc')
      this.#addressed = setTimeout(() => history.replaceState(null, '', `#${toAddress(this.asked)}`), kAddressed);
    if (missing.length) intake.outcome.replaceChildren(this.#dropAgain(missing));
    const before = used.flatMap((file) => this.#made.get(file) ?? []);
    this.#lines.replaceChildren(...before.map((line) => codeLine(line, 'Copy the command before')));
    if (complete) {
      this.#lines.append(codeLine(lineOf('tune', asked), 'Copy the command'));
      this.#lines.append(codeLine(lineOf('simulate', asked), 'Copy the command of this step'));
    }
    // An answer that came with the page need not be asked for again.
    if (complete && !this.answered)
      this.asking.ask(asked);
    else
      this.asking.stop();
    this.answered = null;
  }

  /** @param {string[]} files */
  #dropAgain(files) {
    const {dropped} = this.asked;
    const names = files.flatMap((file) => (dropped[file].length ? dropped[file] : file)).join(', ');
    return html(
      'p', {class: 'wrong', role: 'alert'}, 'This address refers to ', name(names, 400),
      ', which was dropped into a page and never left that browser. Drop it again.');
  }

  /** Shows the question in all controls. */
  async #show() {
    this.asked = settled(this.asked, (option) => this.settings.byOption.has(option));
    const {workload, cluster} = this.asked;
    this.job.set(workload, this.#files().filter((file) => file !== parsed(cluster).base));
    const file = this.#store.get(workload);
    const head = file instanceof Blob ? await file.slice(0, kHead).arrayBuffer() : file?.subarray(0, kHead);
    const gpu = gpuNamed(this.lists.gpus, head ? gpuOf(head) : workload);
    this.cluster.offer(this.#files().filter((other) => other !== this.asked.workload), gpu);
    this.cluster.set(this.asked.cluster);
    this.settings.set(this.asked);
    this.#changed();
  }

  /** Files of the question that the page has. */
  #files() {
    return Object.keys(this.asked.dropped).filter((file) => this.#store.has(file));
  }
}
