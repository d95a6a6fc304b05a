// The worker's side of engine.js: first the compiled program, then one message a run.
"use strict";

const kBetween = 100; // ms between two messages of progress
/** @type {Promise<WebAssembly.Module>} */
let compiled;

onmessage = async ({ data }) => {
  if (data.wasm) {
    compiled = WebAssembly.compile(data.wasm);
    return;
  }
  let told = 0;
  const progress = (done) => {
    if (performance.now() - told < kBetween && done.read < done.size) return;
    told = performance.now();
    postMessage({ id: data.id, progress: done });
  };
  try {
    const files = data.files.map(({ name, content }) => ({ name, source: sourceOf(content) }));
    postMessage({ id: data.id, result: await runProgram(await compiled, data.args, files, progress) });
  } catch (error) {
    postMessage({ id: data.id, error: String(error) });
  }
};
