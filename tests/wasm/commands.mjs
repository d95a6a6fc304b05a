// Runs commands in the worker of the page, under node.
// Usage: node commands.mjs SCRIPT WASM < COMMANDS
// COMMANDS is a JSON list of {args, files: [{name, path}]}. Prints a line of JSON for each command.
// The worker has what browsers provide: messages, Blobs, and FileReaderSync, which reads files on disk here.
import fs from 'node:fs';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {fileURLToPath} from 'node:url';
import vm from 'node:vm';

class FileOnDisk {
  constructor(path, begin = 0, end = fs.statSync(path).size) {
    Object.assign(this, {path, begin, end});
  }
  get size() {
    return this.end - this.begin;
  }
  slice(begin, end) {
    return new FileOnDisk(this.path, this.begin + begin, this.begin + end);
  }
}

function asWorker() {
  globalThis.FileReaderSync = class {
    readAsArrayBuffer({path, begin, size}) {
      const bytes = new Uint8Array(size);
      const file = fs.openSync(path);
      fs.readSync(file, bytes, 0, size, begin);
      fs.closeSync(file);
      return bytes.buffer;
    }
  };
  globalThis.postMessage = (message) => parentPort.postMessage(message);
  globalThis.importScripts = () => {}; // Emscripten detects a worker by it
  globalThis.self = globalThis;
  globalThis.location = {href: 'blob:'};
  delete globalThis.process; // browsers have none
  vm.runInThisContext(workerData, {filename: 'ddpsim-worker.js'});
  parentPort.on('message', (data) => {
    for (const file of data.files ?? []) file.content = new FileOnDisk(file.content.path);
    globalThis.onmessage({data});
  });
}

async function main() {
  const [script, wasm] = process.argv.slice(2);
  const commands = JSON.parse(fs.readFileSync(0, 'utf8'));
  const worker = new Worker(fileURLToPath(import.meta.url), {workerData: fs.readFileSync(script, 'utf8')});
  worker.on('error', (error) => {
    throw error;
  });
  worker.postMessage({program: fs.readFileSync(wasm)});
  for (const [id, {args, files}] of commands.entries()) {
    const begin = performance.now();
    let messages = 0;
    const told = await new Promise((resolve) => {
      worker.on('message', function take(message) {
        if (message.id !== id) return;
        if (message.progress) return ++messages;
        worker.off('message', take);
        resolve(message);
      });
      const given = files.map(({name, path}) => ({name, content: {path}}));
      worker.postMessage({id, args, files: given});
    });
    const {result, error} = told;
    const written = result &&
      Object.fromEntries([...result.written].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]));
    console.log(JSON.stringify({...result, error, written, ms: performance.now() - begin, messages}));
  }
  await worker.terminate();
}

if (isMainThread)
  await main();
else
  asWorker();
