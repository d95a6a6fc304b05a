// One run of the program in a worker: files and arguments in, printed text and written files out. A classic script: the
// build puts it after Emscripten's script, which defines ddpsim(), and before worker.js.
'use strict';

/**
 * A file that is read where it lies, piece by piece.
 * @typedef {{size: number, read: (begin: number, end: number) => Uint8Array}} Source
 */

const kFolder = '/files';
// Bytes read from a source at once. Each read costs a browser about a millisecond.
const kPiece = 4 << 20;

/** @param {Blob | Uint8Array | string} content @returns {Source} */
function sourceOf(content) {
  if (typeof content === 'string') content = new TextEncoder().encode(content);
  if (content instanceof Uint8Array) {
    const bytes = content;
    return {size: bytes.length, read: (begin, end) => bytes.subarray(begin, end)};
  }
  const blob = content;
  const reader = new FileReaderSync();
  return {
    size: blob.size,
    read: (begin, end) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(begin, end))),
  };
}

/**
 * Makes `source` the file at `path` of the program's file system. A small source becomes an ordinary file. A large one is
 * not copied and can only be read.
 * @param {(read: number) => void} progress told how far a large one was read
 */
function place(FS, path, source, progress) {
  FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  FS.writeFile(path, source.size <= kPiece ? source.read(0, source.size) : '');
  if (source.size <= kPiece) return;
  const {node} = FS.lookupPath(path);
  let begin = 0;
  let piece = new Uint8Array();
  const read = (_stream, buffer, offset, length, position) => {
    const end = Math.min(source.size, position + length);
    for (let at = position; at < end;) {
      if (at < begin || at >= begin + piece.length) {
        begin = at;
        piece = source.read(at, Math.min(source.size, at + kPiece));
        progress(at + piece.length);
      }
      const part = piece.subarray(at - begin, end - begin);
      buffer.set(part, offset + at - position);
      at += part.length;
    }
    return Math.max(0, end - position);
  };
  const write = () => {
    throw new FS.ErrnoError(2); // EACCES
  };
  Object.defineProperty(node, 'usedBytes', {get: () => source.size, set: write});
  node.stream_ops = {...node.stream_ops, read, write};
}

/** Every file below `folder`, with the path the program knows it by. */
function* filesBelow(FS, folder) {
  for (const name of FS.readdir(folder)) {
    if (name === '.' || name === '..') continue;
    const path = `${folder}/${name}`;
    if (FS.isDir(FS.stat(path).mode))
      yield* filesBelow(FS, path);
    else
      yield path;
  }
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function alike(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * @param {WebAssembly.Module} compiled
 * @param {string[]} args as on a command line
 * @param {{name: string, source: Source}[]} files by the names that `args` use
 * @param {(done: {file: string, read: number, size: number}) => void} progress while a file is read
 * @returns {Promise<{exit: number, stdout: string, stderr: string, written: Map<string, Uint8Array>, memory: number}>}
 */
async function runProgram(compiled, args, files, progress) {
  const program = await ddpsim({
    thisProgram: 'ddpsim',
    instantiateWasm: (imports, ready) => {
      WebAssembly.instantiate(compiled, imports).then((instance) => ready(instance, compiled));
      return {};
    },
  });
  const {FS} = program;
  // Streams 1 and 2 become files: output is kept byte for byte, and the program sees no terminal.
  const printed = ['/stdout', '/stderr'].map((path, i) => {
    FS.close(FS.streams[i + 1]);
    FS.open(path, 'w');
    return path;
  });
  FS.mkdirTree(kFolder);
  FS.chdir(kFolder);
  const given = new Map();
  for (const {name, source} of files) {
    const path = `${kFolder}/${name}`;
    place(FS, path, source, (read) => progress({file: name, read, size: source.size}));
    given.set(FS.lookupPath(path).node, source);
  }

  let exit = 1;
  let failure = '';
  try {
    exit = program.callMain(args);
  } catch (error) {
    if (error.name === 'ExitStatus')
      exit = error.status;
    else
      failure = `ddpsim: ${error.message}\n`; // memory that cannot grow, a broken invariant
  }
  const text = (path) => new TextDecoder().decode(FS.readFile(path));
  const written = new Map();
  for (const path of filesBelow(FS, kFolder)) {
    const source = given.get(FS.lookupPath(path).node);
    if (source && source.size > kPiece) continue;
    const bytes = FS.readFile(path);
    if (!source || !alike(bytes, source.read(0, source.size))) written.set(path.slice(kFolder.length + 1), bytes);
  }
  return {
    exit,
    stdout: text(printed[0]),
    stderr: text(printed[1]) + failure,
    written,
    memory: program.HEAPU8.length,
  };
}
