// The page with the simulator inside: starts the engine, and puts the workbench in its place.

import {Engine, unpacked} from '../engine/engine.js';
import {html} from '../src/dom.js';
import {fallBack, takeOver} from '../src/fall_back.js';
import {page} from '../src/page.js';
import {lacking, unpack} from '../src/unpack.js';
import {question, Workbench} from './workbench.js';

takeOver();

const held = (/** @type {string} */ id) => document.getElementById(id)?.textContent?.trim() ?? '';

/** @returns {Promise<{quick: Engine, slow: Engine}>} */
async function engines() {
  const [script, wasm] = await Promise.all(['engine-script', 'engine-program'].map((id) => unpacked(held(id))));
  const program = await WebAssembly.compile(wasm);
  const text = new TextDecoder().decode(script);
  return {quick: new Engine(text, program), slow: new Engine(text, program)};
}

/** The page before the engine has started. */
function starting() {
  const status = html('p', {class: 'question', role: 'status'}, 'Starting the simulator …');
  return html('main', {class: 'workbench'}, question(), status);
}

addEventListener('DOMContentLoaded', async () => {
  const missing = lacking() || ('WebAssembly' in window ? '' : 'This browser does not run WebAssembly.');
  if (missing) return fallBack(missing);
  try {
    const inputs = held('inputs') ? /** @type {any} */ (await unpack(held('inputs'))) : null;
    const before = held('documents') ? await unpack(held('documents')) : null;
    document.body.prepend(before ? page(before) : starting());
    const running = await engines();
    const lists = JSON.parse((await running.quick.run(['list', '--json'])).stdout);
    await new Workbench(running, lists, inputs, before).begin();
  } catch (error) {
    fallBack(`The simulator could not be started: ${error instanceof Error ? error.message : error}`);
  }
});
