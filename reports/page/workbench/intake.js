// Files come in: dropped, chosen or pasted. Their kind decides which command reads them. Nothing leaves this page.

import {copyButton, save} from '../src/card.js';
import {html} from '../src/dom.js';
import {name} from '../src/names.js';
import {bytes} from '../src/units.js';
import {parsed} from './cluster_line.js';
import {choiceField, textField} from './controls.js';
import {kindOf} from './kind.js';
import {shellWord} from './shell.js';
import {Store} from './store.js';

/**
 * @typedef {import('../engine/engine.js').Engine} Engine
 *
 * @typedef {object} Taken what became of files
 * @property {'workload' | 'cluster'} of
 * @property {string} file its name in the store
 * @property {string[]} dropped names of what it was made of
 * @property {string | null} command that makes it again
 *
 * @typedef {object} Around
 * @property {Engine} engine one that may be stopped
 * @property {Store} store
 * @property {string[]} models
 * @property {() => string} cluster which is chosen, empty: none yet
 * @property {(taken: Taken) => void} taken
 * @property {() => void} begins
 */

/** @param {string} file */
function stem(file) {
  return file.replace(/^\.\//, '').replace(/(\.pt\.trace)?(\.json)?(\.gz)?$|\.(txt|log|csv)$/i, '') || 'job';
}

export class Intake {
  /** @type {AbortController | null} */ #reading = null;
  /**
   * A log, until there is a cluster to calibrate.
   * @type {{files: File[], again: () => void} | null}
   */
  #waiting = null;

  /** @param {Around} around */
  constructor(around) {
    this.around = around;
    this.outcome = html('div', {class: 'outcome'});
    const chooser =
      html('input', {type: 'file', multiple: true, id: 'chooser', class: 'unseen', 'aria-describedby': 'stays'});
    chooser.addEventListener('change', () => {
      void this.take([...(chooser.files ?? [])]);
      chooser.value = '';
    });
    const text = html('textarea', {id: 'pasted', rows: 5, spellcheck: 'false'});
    this.drop = html(
      'div', {class: 'drop'},
      html(
        'p', {class: 'what'}, html('strong', {}, 'Drop a trace here'),
        html(
          'span', {class: 'kinds'},
          ': torch.profiler’s .json or .json.gz, of one rank or several, of any size. ' +
            'Or a workload, an nccl-tests log, a cluster file.')),
      html('p', {}, chooser, html('label', {'for': 'chooser', class: 'button'}, 'Choose files')),
      html(
        'p', {class: 'stays', id: 'stays'},
        'It is read here, in this browser. Nothing is uploaded: this page cannot send anything.'),
      html(
        'details', {}, html('summary', {}, 'Or paste text'),
        html('label', {'for': 'pasted'}, 'A trace, a workload, a log or a cluster file'), text,
        html('button', {type: 'button', onclick: () => text.value.trim() && this.#paste(text.value)}, 'Read it')));
    this.model = choiceField(
      'Model, if the recording does not say',
      [{value: '', text: 'as recorded'}, ...around.models.map((one) => ({value: one, text: one}))],
      () => this.again?.());
    this.shape = textField('Nodes and GPUs of the log, if it does not say', () => this.again?.(), {placeholder: '2x8'});
    /** @type {(() => void) | undefined} */
    this.again = undefined;
    this.#listen();
  }

  #listen() {
    const over = (/** @type {DragEvent} */ event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      document.body.classList.add('over');
    };
    addEventListener('dragenter', over);
    addEventListener('dragover', over);
    addEventListener('dragleave', (event) => event.relatedTarget || document.body.classList.remove('over'));
    addEventListener('drop', (event) => {
      document.body.classList.remove('over');
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      void this.take([...event.dataTransfer.files]);
    });
    document.addEventListener('paste', (event) => {
      if (event.target instanceof HTMLElement && event.target.matches('input, textarea')) return;
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length)
        void this.take(files);
      else
        this.#paste(event.clipboardData?.getData('text') ?? '');
    });
  }

  /** @param {string} text */
  #paste(text) {
    if (text.trim()) void this.take([new File([text], /^\s*[{[]/.test(text) ? 'pasted.json' : 'pasted.txt')]);
  }

  /** @param {File[]} files */
  async take(files) {
    if (!files.length) return;
    this.around.begins();
    const kind = await kindOf(files[0]);
    if (kind === 'log') return this.#calibrate(files);
    if (kind === 'recording' || files.length > 1) return this.#import(files);
    const [file] = files;
    const kept = this.around.store.put(Store.named(file.name), file);
    this.outcome.replaceChildren(html(
      'p', {class: 'read'}, 'Read as a ', html('strong', {}, kind), ': ', name(file.name), `, ${bytes(file.size)}.`));
    this.around.taken({of: kind, file: kept, dropped: [file.name], command: null});
  }

  /** @param {File[]} files */
  async #import(files) {
    this.again = () => void this.#import(files);
    const named = files.map((file) => ({name: Store.named(file.name), content: file}));
    const out = Store.free(`${stem(named[0].name)}.workload.json`, named.map((file) => file.name));
    const model = this.model.control.value;
    const args = ['import', ...named.map((file) => file.name), '-o', out, ...(model ? ['--model', model] : [])];
    const result = await this.#run(args, named);
    if (!result) return;
    const {exit, stderr, written} = result;
    const workload = written.get(out);
    this.#say(exit === 0 && workload ? 'Read' : 'Not read', files, stderr, exit);
    if (exit === 0 && workload)
      this.outcome.append(
        html('button', {type: 'button', onclick: () => save(out, workload, 'application/json')}, `Save ${out}`));
    if (model || stderr.includes('--model')) this.outcome.append(this.model.element);
    if (exit === 0 && workload)
      this.around.taken({
        of: 'workload',
        file: this.around.store.put(out, workload),
        dropped: files.map((file) => file.name),
        command: `ddpsim ${args.map(shellWord).join(' ')}`
      });
  }

  /** @param {File[]} files logs */
  async #calibrate(files) {
    this.again = () => void this.#calibrate(files);
    const cluster = this.around.cluster();
    if (!cluster) {
      this.#waiting = {files, again: this.again};
      this.outcome.replaceChildren(html(
        'p', {class: 'read'}, html('strong', {}, 'A log of nccl-tests'), ': ',
        name(files.map((file) => file.name).join(', ')),
        '. Choose the cluster it was measured on: it calibrates that one.'));
      return this.around.taken({of: 'cluster', file: '', dropped: [], command: null});
    }
    const shape = this.shape.control.value.trim();
    const named = files.map((file) => ({name: Store.named(file.name), content: file}));
    const out =
      Store.free(`${stem(named[0].name)}.cluster.json`, [...named.map((file) => file.name), parsed(cluster).base]);
    const args =
      ['calibrate', ...named.map((file) => file.name + (shape && `@${shape}`)), '--cluster', cluster, '-o', out];
    const result = await this.#run(args, [...this.around.store.all(), ...named]);
    if (!result) return;
    const {exit, stdout, stderr, written} = result;
    const made = written.get(out);
    this.#say(exit === 0 && made ? 'Calibrated by' : 'Not read', files, exit === 0 ? stdout : stderr, exit);
    this.outcome.append(this.shape.element);
    if (exit !== 0 || !made) return;
    this.outcome.append(
      html('button', {type: 'button', onclick: () => save(out, made, 'application/json')}, `Save ${out}`));
    this.around.taken({
      of: 'cluster',
      file: this.around.store.put(out, made),
      dropped: files.map((file) => file.name),
      command: `ddpsim ${args.map(shellWord).join(' ')}`
    });
  }

  /** Whether a log waits for a cluster. */
  get waits() {
    return this.#waiting !== null;
  }

  /** A cluster was chosen: a log may have waited for one. */
  clusterChosen() {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.again();
  }

  /**
   * What the program said, in its own words.
   * @param {string} how
   * @param {File[]} files
   * @param {string} words
   * @param {number} exit
   */
  #say(how, files, words, exit) {
    const lines = words.trim().replace(/^ddpsim: /, '').split('\n');
    const size = bytes(files.reduce((sum, file) => sum + file.size, 0));
    this.outcome.replaceChildren(html(
      'p', {class: 'read'}, html('strong', {}, `${how} `), name(files.map((file) => file.name).join(', ')),
      `, ${size}`));
    if (exit !== 0) return this.outcome.append(html('p', {class: 'wrong', role: 'alert'}, name(lines.join(' '), 2000)));
    const warnings = lines.filter((line) => line.startsWith('warning: '));
    const read = lines.filter((line) => !line.startsWith('warning: ')).join('\n');
    this.outcome.append(...warnings.map((line) => html('p', {class: 'warned'}, name(line, 1000))));
    this.outcome.append(html(
      'details', {}, html('summary', {}, 'What was read'),
      html('pre', {tabindex: 0, role: 'region', 'aria-label': 'What was read'}, read),
      ...copyButton('Copy', () => words, 'Copy what was read')));
  }

  /**
   * With how far it is, and a way to stop it.
   * @param {string[]} args
   * @param {import('../engine/engine.js').InputFile[]} files
   */
  async #run(args, files) {
    this.#reading?.abort();
    const reading = (this.#reading = new AbortController());
    const bar = html('progress', {id: 'reading', max: 1});
    const far = html('span', {class: 'far'});
    const cancel = html(
      'button', {type: 'button', onclick: () => reading.abort(new DOMException('cancelled', 'AbortError'))}, 'Cancel');
    this.outcome.replaceChildren(html(
      'div', {class: 'reading'},
      html('label', {'for': 'reading'}, 'Reading ', name(args.slice(1).find((one) => !one.startsWith('-')) ?? '')), bar,
      far, cancel));
    document.body.classList.add('reading');
    try {
      return await this.around.engine.run(args, files, {
        signal: reading.signal,
        progress: ({read, size}) => {
          bar.value = read / size;
          far.textContent = `${bytes(read)} of ${bytes(size)}`;
        },
      });
    } catch (error) {
      if (this.#reading === reading)
        this.outcome.replaceChildren(html(
          'p', {class: 'read', role: 'status'},
          reading.signal.aborted ? 'Cancelled; nothing was kept.' : `It could not be read: ${error}`));
      return null;
    } finally {
      if (this.#reading === reading) document.body.classList.remove('reading');
    }
  }
}
