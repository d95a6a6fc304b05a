// Files that exist only in this page: dropped ones and those made of them. They are never in the address, never sent.

/** @typedef {import('../engine/engine.js').InputFile} InputFile */

export class Store {
  /** @type {Map<string, Blob | Uint8Array>} */ #files = new Map();

  /**
   * A name that a command line takes for a file's, and for no option's.
   * @param {string} name
   */
  static named(name) {
    const plain = name.replace(/[\u0000-\u001f\u007f/\\]/g, '_') || 'file';
    if (plain === '.' || plain === '..') return 'file'; // they are folders
    return plain.startsWith('-') ? `./${plain}` : plain;
  }

  /**
   * A name for a file that a command writes: the program replaces none that it reads.
   * @param {string} name
   * @param {string[]} read names of files
   */
  static free(name, read) {
    let free = name;
    for (let number = 2; read.includes(free); ++number) free = name.replace('.', `-${number}.`);
    return free;
  }

  /** @param {string} name @param {Blob | Uint8Array} content */
  put(name, content) {
    this.#files.set(name, content);
    return name;
  }

  /** @param {string} name */
  has(name) {
    return this.#files.has(name);
  }

  /** @param {string} name */
  get(name) {
    return this.#files.get(name);
  }

  /** @returns {InputFile[]} */
  all() {
    return [...this.#files].map(([name, content]) => ({name, content}));
  }
}
