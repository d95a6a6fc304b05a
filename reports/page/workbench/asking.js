// Asks the program for new answers while the user drags a control of the page. One simulation runs at a time, and only
// the newest question waits. When the controls are at rest, the program compares all bucket caps.

import {argumentsOf} from './asked.js';
import {Store} from './store.js';

/**
 * @typedef {import('./asked.js').Asked} Asked
 * @typedef {import('../src/envelope.js').Envelope} Envelope
 * @typedef {import('../engine/engine.js').Engine} Engine
 * @typedef {import('../engine/engine.js').InputFile} InputFile
 *
 * @typedef {object} Shows
 * @property {(what: 'simulate' | 'tune') => void} begins
 * @property {(envelope: Envelope, what: 'simulate' | 'tune', asked: Asked, ms: number) => void} answered
 * @property {(problem: string, asked: Asked) => void} refused in the program's words
 */

const kRest = 300; // ms without a change

export class Asking {
  /** @type {Asked | null} */ #newest = null;
  #running = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #rest;
  /** @type {AbortController | undefined} */ #weighing;

  /**
   * @param {{quick: Engine, slow: Engine}} engines one that answers at once, one that may be stopped
   * @param {() => InputFile[]} files
   * @param {Shows} shows
   */
  constructor(engines, files, shows) {
    this.engines = engines;
    this.files = files;
    this.shows = shows;
  }

  /**
   * @param {Engine} engine
   * @param {'simulate' | 'tune'} command
   * @param {Asked} asked
   * @param {AbortSignal} [signal]
   */
  async run(engine, command, asked, signal) {
    const files = this.files();
    const report = Store.free('answer.json', files.map((file) => file.name));
    const result = await engine.run([...argumentsOf(command, asked), '--report', report, '--quiet'], files, {signal});
    return {...result, document: result.written.get(report)};
  }

  /**
   * @param {Engine} engine
   * @param {'simulate' | 'tune'} command
   * @param {Asked} asked
   * @param {AbortSignal} [signal]
   */
  async #answer(engine, command, asked, signal) {
    const {exit, stderr, document} = await this.run(engine, command, asked, signal);
    if (exit !== 0 || !document) return {problem: stderr.trim() || `ddpsim ended with code ${exit}`};
    return {envelope: /** @type {Envelope} */ (JSON.parse(new TextDecoder().decode(document)))};
  }

  /** @param {Asked} asked */
  ask(asked) {
    this.stop();
    this.#newest = structuredClone(asked);
    if (!this.#running) void this.#simulate();
  }

  /** Drops the waiting question and ends the comparison of caps. */
  stop() {
    this.#newest = null;
    clearTimeout(this.#rest);
    this.#weighing?.abort(new DOMException('another was asked', 'AbortError'));
  }

  /**
   * An answer that cannot be drawn is told as well, and the next question is asked.
   * @param {Envelope} envelope
   * @param {'simulate' | 'tune'} what
   * @param {Asked} asked
   * @param {number} ms
   */
  #shown(envelope, what, asked, ms) {
    try {
      this.shows.answered(envelope, what, asked, ms);
    } catch (error) {
      this.shows.refused(`The answer could not be drawn: ${error}`, asked);
    }
  }

  async #simulate() {
    this.#running = true;
    while (this.#newest) {
      const asked = this.#newest;
      this.#newest = null;
      this.shows.begins('simulate');
      const begun = performance.now();
      const {envelope, problem} =
        await this.#answer(this.engines.quick, 'simulate', asked)
          .catch((error) => ({envelope: undefined, problem: String(error?.message ?? error)}));
      if (envelope)
        this.#shown(envelope, 'simulate', asked, performance.now() - begun);
      else if (!this.#newest)
        this.shows.refused(problem ?? '', asked);
      if (!this.#newest && envelope) this.#rest = setTimeout(() => void this.#weigh(asked), kRest);
    }
    this.#running = false;
  }

  /** @param {Asked} asked */
  async #weigh(asked) {
    this.#weighing = new AbortController();
    const {signal} = this.#weighing;
    this.shows.begins('tune');
    const begun = performance.now();
    try {
      const {envelope, problem} = await this.#answer(this.engines.slow, 'tune', asked, signal);
      if (signal.aborted) return;
      if (envelope)
        this.#shown(envelope, 'tune', asked, performance.now() - begun);
      else
        this.shows.refused(problem ?? '', asked);
    } catch (error) {
      if (!signal.aborted) this.shows.refused(String(error), asked);
    }
  }
}
