// The page with the simulator inside: what is asked at the side, the answer beside it.

import {Engine, unpacked} from '../engine/engine.js';
import {codeLine} from '../src/header.js';
import {html} from '../src/dom.js';
import {lacking, unpack} from '../src/unpack.js';
import {name, visible} from '../src/names.js';
import {page} from '../src/page.js';
import {Answer} from './answer.js';
import {byName, fromAddress, lineOf, nothingAsked, ofInputs, settled, toAddress} from './asked.js';
import {Asking} from './asking.js';
import {ClusterForm} from './cluster_form.js';
import {parsed} from './cluster_line.js';
import {Intake} from './intake.js';
import {JobForm} from './job_form.js';
import {SettingsForm} from './settings_form.js';
import {Store} from './store.js';

/**
 * @typedef {import('./asked.js').Asked} Asked
 * @typedef {import('../src/documents.js').Envelope} Envelope
 * @typedef {import('./asked.js').Inputs} Inputs
 */

document.documentElement.classList.add('scripted');

const kAddressed = 100; // ms without a change, until the address tells it: it costs more than a frame

const held = (/** @type {string} */ id) => document.getElementById(id)?.textContent?.trim() ?? '';

/** @returns {Promise<{quick: Engine, slow: Engine}>} */
async function engines() {
  const [script, wasm] = await Promise.all(['engine-script', 'engine-program'].map((id) => unpacked(held(id))));
  const program = await WebAssembly.compile(wasm);
  const text = new TextDecoder().decode(script);
  return {quick: new Engine(text, program), slow: new Engine(text, program)};
}

/**
 * The model: clusters are offered by it.
 * @param {{model: string}[]} gpus
 * @param {string} workload
 */
function gpuNamed(gpus, workload) {
  const words = workload.toLowerCase().split(/[-@:]/);
  return gpus.find(({model}) => words.includes(model.toLowerCase()))?.model ?? '';
}

/**
 * @param {{quick: Engine, slow: Engine}} running
 * @param {Inputs | null} inputs
 * @param {Envelope | null} before what a command has answered already
 */
async function workbench(running, inputs, before) {
  const store = new Store();
  for (const {name, content} of inputs?.files ?? []) store.put(name, new TextEncoder().encode(content));
  const files = () => store.all();
  const lists = JSON.parse((await running.quick.run(['list', '--json'])).stdout);
  let asked = location.hash.length > 1 ? fromAddress(location.hash.slice(1))
    : inputs
    ? ofInputs(inputs)
    : nothingAsked();
  /** @type {Map<string, string>} by the file it makes */
  const made = new Map();

  let answered = before !== null && location.hash.length <= 1;

  const answer = new Answer();
  const status = html('p', {class: 'status', role: 'status'});
  const refusal = html('div', {class: 'wrong', role: 'alert', hidden: true});
  const lines = html('div', {class: 'lines'});
  const asking = new Asking(running, files, {
    begins: (what) => {
      status.textContent = what === 'tune' ? 'Weighing every cap …' : 'Simulating …';
    },
    answered: (envelope, what, of, ms) => {
      const begun = performance.now();
      refusal.hidden = true;
      settings.wrong('');
      job.wrong('');
      answer.show(envelope, what, of);
      document.title = `${visible(envelope.verdict, 120)} (ddpsim)`;
      status.textContent = what === 'tune' ? 'Every cap weighed.' : 'Simulated.';
      /** @type {any} */ (answer.element).times?.push({what, ms, drawn: performance.now() - begun});
    },
    refused: (problem) => {
      const words = problem.replace(/^ddpsim: /, '');
      status.textContent = '';
      answer.stale(true);
      if (!settings.wrong(words) && !cluster.refuses) job.wrong(words);
      refusal.replaceChildren(name(words, 2000));
      const gpu = / --gpu ([\w-]+)$/.exec(words)?.[1];
      if (gpu)
        refusal.append(
          ' ',
          html(
            'button', {type: 'button', onclick: () => settings.carryOver(gpu)},
            `Estimate it layer by layer for ${gpu}`));
      refusal.hidden = false;
    },
  });
  // For who measures and checks: milliseconds of the program and of drawing for each answer; the engine; what is asked
  // of it.
  Object.assign(answer.element, {
    times: [],
    run: (/** @type {string[]} */ args, /** @type {any[]} */ given) => running.quick.run(args, given),
    asks: (/** @type {'simulate' | 'tune'} */ command) => asking.run(running.quick, command, asked),
  });

  const intake = new Intake({
    engine: running.slow,
    store,
    models: lists.models.map((/** @type {{name: string}} */ one) => one.name),
    cluster: () => asked.cluster,
    begins: () => asking.stop(),
    taken: ({of, file, dropped, command}) => {
      if (file) {
        asked.dropped[file] = dropped;
        if (command) made.set(file, command);
      }
      if (of === 'workload')
        asked.workload = file;
      else if (file)
        asked.cluster = parsed(asked.cluster).nodes ? `${file}@${parsed(asked.cluster).nodes}` : file;
      void shown();
    },
  });
  const job = new JobForm({...lists, changed: (workload) => (asked.workload = workload, void shown())});
  const cluster = new ClusterForm({
    engine: running.quick,
    files,
    clusters: lists.clusters,
    gpus: lists.gpus,
    understood: ({gpu}) => settings.over(gpu),
    refused: () => job.wrong(''),
    changed: (line) => {
      asked.cluster = line;
      if (line) intake.clusterChosen();
      changed();
    },
  });
  const settings = new SettingsForm({
    torch: lists.torch,
    changed: (option, value) => {
      if (value === null)
        delete asked.options[option];
      else
        asked.options[option] = value;
      changed();
    },
    further: (text) => {
      asked.further = text;
      changed();
    },
  });
  const example = html(
    'button', {type: 'button', class: 'example'}, 'Look at an example: ResNet-50, recorded on a V100, on four DGX-1');
  example.addEventListener('click', () => {
    Object.assign(asked, {workload: 'resnet50-v100-b32', cluster: 'dgx1v@4'});
    void shown();
  });
  const jobSet = html(
    'fieldset', {class: 'job-set'}, html('legend', {}, 'The job'), intake.drop, intake.outcome, job.element, example);
  const panel = html(
    'form', {class: 'panel', 'aria-label': 'What is asked', onsubmit: (event) => event.preventDefault()}, jobSet,
    cluster.element, settings.element,
    html(
      'section', {class: 'command', 'aria-label': 'The same on a command line'},
      html('h2', {}, 'The same on a command line'), lines));
  // The cap stands above the answer: what it moves is seen beside it.
  const bar = html('div', {class: 'strip'}, settings.cap, status, refusal);
  const main = html(
    'main', {class: 'workbench'}, question(),
    html('div', {class: 'bench'}, panel, html('div', {class: 'beside'}, bar, answer.element)));

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let addressed;
  /** Which files are asked for and are not here. */
  const missing = () =>
    Object.keys(asked.dropped)
      .filter((file) => !store.has(file) && (asked.workload === file || parsed(asked.cluster).base === file));

  const changed = () => {
    const lacks = missing();
    const complete = Boolean(asked.workload && asked.cluster) && !lacks.length;
    document.body.dataset.stage = lacks.length || !(asked.workload || intake.waits) ? 'job'
      : asked.cluster
      ? 'answer'
      : 'cluster';
    const used = new Set([asked.workload, parsed(asked.cluster).base]);
    asked.dropped = byName(Object.entries(asked.dropped).filter(([file]) => used.has(file)));
    clearTimeout(addressed);
    // A page inside a notebook's has no address of its own.
    if (location.href !== 'about:srcdoc')
      addressed = setTimeout(() => history.replaceState(null, '', `#${toAddress(asked)}`), kAddressed);
    if (lacks.length)
      intake.outcome.replaceChildren(html(
        'p', {class: 'wrong', role: 'alert'}, 'This address is of ',
        name(lacks.flatMap((file) => (asked.dropped[file].length ? asked.dropped[file] : file)).join(', '), 400),
        ', which was dropped here and never left that browser: drop it again.'));
    const before = [...used].flatMap((file) => made.get(file) ?? []);
    lines.replaceChildren(...before.map((line) => codeLine(line, 'Copy the command before')));
    if (complete)
      lines.append(
        codeLine(lineOf('tune', asked), 'Copy the command'),
        codeLine(lineOf('simulate', asked), 'Copy the command of this step'));
    // What a command has answered need not be asked again.
    if (complete && !answered)
      asking.ask(asked);
    else
      asking.stop();
    answered = false;
  };

  /** Everything as it is asked. */
  const shown = async () => {
    asked = settled(asked, (option) => settings.byOption.has(option));
    job.set(
      asked.workload,
      Object.keys(asked.dropped).filter((file) => store.has(file) && file !== parsed(asked.cluster).base));
    const workload = store.get(asked.workload);
    let gpu = gpuNamed(lists.gpus, asked.workload);
    if (workload instanceof Blob || workload instanceof Uint8Array) {
      const head = new TextDecoder().decode(
        workload instanceof Blob ? await workload.slice(0, 4096).arrayBuffer() : workload.subarray(0, 4096));
      gpu = gpuNamed(lists.gpus, /"gpu"\s*:\s*"([^"]*)"/.exec(head)?.[1] ?? '');
    }
    cluster.offer(Object.keys(asked.dropped).filter((file) => store.has(file) && file !== asked.workload), gpu);
    cluster.set(asked.cluster);
    settings.set(asked);
    changed();
  };

  addEventListener('hashchange', () => {
    asked = fromAddress(location.hash.slice(1));
    void shown();
  });
  document.querySelector('main')?.replaceWith(main);
  if (answered && before) answer.show(before, before.documents.tune ? 'tune' : 'simulate', asked);
  await shown();
}

function question() {
  return html(
    'div', {class: 'question'},
    html('h1', {}, 'What does a step of your DDP job take, and is another bucket_cap_mb worth it?'),
    html(
      'p', {class: 'lead'},
      'Drop a profiler trace, or choose a job; say where it trains; then move the cap and watch the step.'));
}

/** @param {string} why */
function fallBack(why) {
  document.documentElement.classList.remove('scripted');
  document.body.prepend(html('p', {role: 'alert'}, why));
}

addEventListener('DOMContentLoaded', async () => {
  const missing = lacking() || ('WebAssembly' in window ? '' : 'This browser runs no WebAssembly.');
  if (missing) return fallBack(missing);
  try {
    const inputs = held('inputs') ? /** @type {any} */ (await unpack(held('inputs'))) : null;
    const before = held('documents') ? await unpack(held('documents')) : null;
    // What can be seen without the engine is seen at once.
    document.body.prepend(
      before
        ? page(before)
        : html(
            'main', {class: 'workbench'}, question(),
            html('p', {class: 'question', role: 'status'}, 'Starting the simulator …')));
    await workbench(await engines(), inputs, before);
  } catch (error) {
    fallBack(`The simulator could not be started: ${error instanceof Error ? error.message : error}`);
  }
});
