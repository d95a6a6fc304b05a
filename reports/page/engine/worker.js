// The worker's side of engine.js: first a message with the program, compiled or not, then one message per run.
'use strict';

const kBetween = 100; // ms between two messages of progress
/** @type {WebAssembly.Module | Promise<WebAssembly.Module>} */
let compiled;

onmessage = async ({data}) => {
  if (data.program) {
    compiled = data.program instanceof WebAssembly.Module ? data.program : WebAssembly.compile(data.program);
    return;
  }
  let told = 0;
  const progress = (done) => {
    if (performance.now() - told < kBetween && done.read < done.size) return;
    told = performance.now();
    postMessage({id: data.id, progress: done});
  };
  try {
    const files = data.files.map(({name, content}) => ({name, source: sourceOf(content)}));
    postMessage({id: data.id, result: await runProgram(await compiled, data.args, files, progress)});
  } catch (error) {
    postMessage({id: data.id, error: String(error)});
  }
};
