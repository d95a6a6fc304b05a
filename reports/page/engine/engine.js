// ddpsim itself, in a worker: the same program as on a command line, with the same answers to the byte. Works from a
// file on disk under default-src 'none'; script-src (hashes) 'wasm-unsafe-eval'; worker-src blob:.
//
//   const engine = new Engine(script, await WebAssembly.compile(await unpacked(base64)));
//   const { exit, stdout, stderr, written } = await engine.run(["import", "trace.json.gz", "-o", "w.json"],
//     [{ name: "trace.json.gz", content: file }], { progress: ({ read, size }) => …, signal });
//
// Files are read in place, piece by piece: hundreds of megabytes take no memory of the page. There is one run at a time;
// another waits for it. Cancelling (`signal`) ends the worker at once; the next run begins a new one.

/**
 * @typedef {{name: string, content: Blob | Uint8Array | string}} InputFile `name` as the arguments say it
 * @typedef {{file: string, read: number, size: number}} Progress bytes of a file
 * @typedef {{exit: number, stdout: string, stderr: string, written: Map<string, Uint8Array>, memory: number}} Result
 *   `exit` as the command line's (0 ok, 2 usage, 3 bad input …); `written` are the files it wrote; `memory` in bytes
 * @typedef {{progress?: (done: Progress) => void, signal?: AbortSignal}} RunOptions
 */

/**
 * The content of base64 of gzip.
 * @param {string} base64
 * @returns {Promise<Uint8Array>}
 */
export async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Engine {
  /** @type {string} */ #address;
  /** @type {WebAssembly.Module} */ #program;
  /** @type {Worker | undefined} */ #worker;
  /** @type {Promise<unknown>} */ #before = Promise.resolve();
  #runs = 0;

  /**
   * @param {string} script the build's ddpsim-worker.js
   * @param {WebAssembly.Module} program the build's ddpsim.wasm, compiled once for all workers
   */
  constructor(script, program) {
    this.#address = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
    this.#program = program;
  }

  /**
   * @param {string[]} args
   * @param {InputFile[]} [files]
   * @param {RunOptions} [options]
   * @returns {Promise<Result>} rejected where `signal` aborts, with its reason
   */
  run(args, files = [], options = {}) {
    const run = this.#before.then(() => this.#one(args, files, options));
    this.#before = run.catch(() => {});
    return run;
  }

  /** Starts the worker now, so that the first answer need not wait for it. */
  start() {
    if (this.#worker) return this.#worker;
    this.#worker = new Worker(this.#address);
    this.#worker.postMessage({program: this.#program});
    return this.#worker;
  }

  stop() {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** @param {string[]} args @param {InputFile[]} files @param {RunOptions} options @returns {Promise<Result>} */
  #one(args, files, {progress, signal}) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const worker = this.start();
      const id = ++this.#runs;
      const done = () => signal?.removeEventListener('abort', cancel);
      const cancel = () => {
        this.stop();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', cancel, {once: true});
      worker.onmessage = ({data}) => {
        if (data.id !== id) return;
        if (data.progress) return progress?.(data.progress);
        done();
        if (data.result)
          resolve(data.result);
        else
          reject(new Error(data.error));
      };
      worker.onerror = (event) => {
        done();
        this.stop();
        reject(new Error(event.message));
      };
      worker.postMessage({id, args, files});
    });
  }
}
