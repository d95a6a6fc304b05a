// The form for a cluster: a bundled one, a file, or one described word by word. It makes the line that a command takes.

import {html} from '../src/dom.js';
import {parsed, written} from './cluster_line.js';
import {choiceField, ratioField, textField} from './controls.js';

/**
 * @typedef {object} Understood `cluster` of ddpsim.topo/1
 * @property {number} nodes
 * @property {number} [nodes_per_domain] only where nodes share an NVLink domain
 * @property {number} gpus_per_node
 * @property {string} gpu its model
 * @property {string} gpu_variant the product, "A100-40GB"
 * @property {string | null} line which describes one like it
 * @property {{kind: string}} intra
 * @property {{kind: string, nics_per_node: number, per_nic_gbps: number}} network
 *
 * @typedef {{name: string, summary: string}} Row of ddpsim.list/1
 * @typedef {import('../engine/engine.js').Engine} Engine
 */

const kDescribe = '?';
const kSome = 'node:1 gpu:8xA100 nvswitch:300GBps nic:8x200Gbps:ib';

/** @param {number} value */
const whole = (value) => Math.max(1, Math.round(value));

/** @param {number} count @param {number} gbps bits @param {string} kind */
const nicWord = (count, gbps, kind) => `${count}x${Number(gbps.toPrecision(6))}Gbps:${kind}`;

export class ClusterForm {
  /** @type {Understood | null} */ understood = null;
  #line = '';
  #reading = false;
  /** Whether the form shows an error, so that no question is asked. */
  refuses = false;

  /**
   * @param {{engine: Engine, files: () => import('../engine/engine.js').InputFile[], clusters: Row[],
   *   words: import('./cluster_line.js').Word[], gpus: Row[],
   *   changed: (line: string) => void, understood: (cluster: Understood) => void, refused: () => void}} around
   */
  constructor(around) {
    this.around = around;
    this.links = around.words.filter((word) => word.joins_gpus);
    const kinds = around.words.flatMap((word) => word.kinds ?? []);
    this.base = choiceField('Cluster', [], (value) => this.#choose(value));
    this.nodes = ratioField(
      'Nodes', {from: 1, to: 256, perDoubling: 8, round: whole, unit: '', least: 1},
      (value) => value && this.#edit((line) => void (line.nodes = Math.round(value))));
    this.nics = ratioField(
      'NICs per node', {from: 1, to: 16, perDoubling: 4, round: whole, unit: '', least: 1}, () => this.#network());
    this.rate = ratioField(
      'Rate per NIC', {
        from: 1,
        to: 800,
        perDoubling: 8,
        round: (value) => (value < 10 ? Math.round(value * 10) / 10 : Math.round(value / 5) * 5),
        unit: 'Gbit/s'
      },
      () => this.#network());
    this.kind = choiceField('Network', kinds.map((value) => ({value, text: value})), () => this.#network());
    this.gpu = choiceField(
      'GPU',
      around.gpus.map(
        ({name, summary}) => ({value: name, text: `${name}: ${summary.replace(/^[^:]*: /, '').replace(/;.*/, '')}`})),
      (value) => this.#edit((line) => void line.words.set('gpu', `${this.understood?.gpus_per_node ?? 8}x${value}`)));
    this.perNode = ratioField(
      'GPUs per node', {from: 1, to: 16, perDoubling: 4, round: whole, unit: '', least: 1},
      (value) => value &&
        this.#edit(
          (line) => void line.words.set('gpu', `${Math.round(value)}x${this.understood?.gpu_variant ?? 'A100-80GB'}`)));
    this.link = choiceField(
      'Between GPUs', this.links.map(({name, summary}) => ({value: name, text: summary.replace(/;.*/, '')})),
      (value) => this.#edit((line) => {
        for (const {name, example} of this.links) {
          line.words.delete(name);
          if (name === value) line.words.set(name, example);
        }
      }));
    this.linkRate = textField(
      'Rate per GPU, in one direction',
      (value) => this.#edit((line) => void line.words.set(this.link.control.value, value)),
      {hint: '300GBps; of NVLink and xGMI links × rate: 6x25GBps'});
    this.line = textField(
      'Cluster in one line', (value) => this.set(value, true),
      {hint: 'A name, a file dropped here, or words: docs/reference/formats.md, “Cluster in one line”.', kind: 'wide'});
    this.known = html('p', {class: 'hint'});
    this.network = html('div', {class: 'fields'}, this.nics.element, this.rate.element, this.kind.element);
    this.node =
      html('div', {class: 'fields'}, this.gpu.element, this.perNode.element, this.link.element, this.linkRate.element);
    this.more =
      html('div', {class: 'more', hidden: true}, this.nodes.element, this.node, this.network, this.line.element);
    this.element =
      html('fieldset', {class: 'cluster'}, html('legend', {}, 'The cluster'), this.base.element, this.known, this.more);
    this.offer([], '');
  }

  /**
   * What can be chosen: files of this page, then those with the GPU a recording was made on.
   * @param {string[]} files
   * @param {string} gpu empty: unknown
   */
  offer(files, gpu) {
    const text = (/** @type {Row} */ {name, summary}) =>
      ({value: name, text: `${name}: ${summary.replace(/;.*/, '')}`});
    const fits = this.around.clusters.filter(({summary}) => gpu && new RegExp(`\\b${gpu}\\b`).test(summary));
    const others = this.around.clusters.filter((one) => !fits.includes(one));
    this.base.offer([
      {value: '', text: 'Choose a cluster …'},
      {value: kDescribe, text: 'Describe another cluster'},
      ...(files.length ? [{group: 'Your files', choices: files.map((file) => ({value: file, text: file}))}] : []),
      ...(fits.length ? [{group: `With ${gpu}, as recorded`, choices: fits.map(text)}] : []),
      {group: fits.length ? 'With other GPUs' : 'Bundled', choices: others.map(text)},
    ]);
    if (this.#line) this.base.set(parsed(this.#line).base || kDescribe);
  }

  /**
   * @param {string} line
   * @param {boolean} [tell] whoever asks
   */
  set(line, tell = false) {
    this.#line = line;
    this.line.set(line);
    this.base.set(line ? parsed(line).base || kDescribe : '');
    if (tell) this.around.changed(line);
    void this.#understand();
  }

  /** @param {string} problem */
  wrong(problem) {
    this.refuses = true;
    this.around.refused();
    (this.more.hidden ? this.base : this.line).wrong(problem);
  }

  /** @param {string} value */
  #choose(value) {
    if (value !== kDescribe)
      return this.set(
        value && this.understood && this.understood.nodes > 1 ? `${value}@${this.understood.nodes}` : value, true);
    this.set(this.understood?.line ?? kSome, true);
  }

  /** @param {(line: import('./cluster_line.js').ClusterLine) => void} change */
  #edit(change) {
    const line = parsed(this.#line);
    change(line);
    // A described cluster of several nodes needs a network.
    if (!line.base && (line.nodes ?? 1) > 1 && !line.words.has('nic')) line.words.set('nic', nicWord(1, 100, 'ib'));
    this.set(written(line), true);
  }

  #network() {
    const [count, rate] = [Number(this.nics.control.value) || 1, Number(this.rate.control.value) || 100];
    this.#edit((line) => void line.words.set('nic', nicWord(Math.round(count), rate, this.kind.control.value)));
  }

  /** Lets the program read the line, one at a time and the newest next. The form shows what it understood. */
  async #understand() {
    this.more.hidden = !this.#line;
    if (this.#reading) return;
    this.#reading = true;
    for (let read = ''; read !== this.#line;) {
      read = this.#line;
      await this.#read(read);
    }
    this.#reading = false;
  }

  /** @param {string} text */
  async #read(text) {
    this.refuses = false;
    this.base.wrong('');
    this.line.wrong('');
    if (!text) return void (this.known.textContent = '');
    const {exit, stdout, stderr} = await this.around.engine.run(['topo', text, '--json'], this.around.files());
    if (text !== this.#line) return;
    this.known.textContent = '';
    if (exit !== 0) return this.wrong(stderr.trim().replace(/^ddpsim: (command line: )?/, ''));
    const {cluster, bottleneck} = JSON.parse(stdout);
    const understood = /** @type {Understood} */ (cluster);
    this.understood = understood;
    this.around.understood(understood);
    const ranks = understood.nodes * understood.gpus_per_node;
    const busbw = bottleneck && Number(bottleneck.busbw_gbps.toPrecision(3));
    const bound = bottleneck ? `, bound by ${bottleneck.kind} at ${busbw} GB/s of bus bandwidth` : '';
    this.known.textContent = `${ranks} GPUs${bound}.`;
    this.nodes.set(understood.nodes);
    this.nics.set(understood.network.nics_per_node || 1);
    this.rate.set(Number((8 * (understood.network.per_nic_gbps || 12.5)).toPrecision(6)));
    this.kind.set(understood.network.nics_per_node ? understood.network.kind : 'ib');
    this.gpu.set(understood.gpu_variant);
    this.perNode.set(understood.gpus_per_node);
    const line = parsed(text);
    const link = this.links.find(({name}) => line.words.has(name))?.name ?? understood.intra.kind;
    if (link) this.link.set(link);
    this.linkRate.set(line.words.get(link ?? '') ?? '');
    // The nodes of a bundled cluster or a file are fixed. Their number and the network can be changed.
    this.node.hidden = Boolean(line.base);
    this.network.hidden = understood.nodes < 2;
  }
}
