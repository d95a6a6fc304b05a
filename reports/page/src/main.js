// Reads what lies in the file and shows it.

import {html} from './dom.js';
import {page} from './page.js';
import {visible} from './names.js';
import {lacking, unpack} from './unpack.js';

document.documentElement.classList.add('scripted');

/**
 * What a terminal would show still stands in the file.
 * @param {string} why
 */
function fallBack(why) {
  document.documentElement.classList.remove('scripted');
  document.body.prepend(html('p', {role: 'alert'}, why));
}

addEventListener('DOMContentLoaded', async () => {
  const missing = lacking();
  if (missing) return fallBack(missing);
  try {
    const envelope = await unpack(document.getElementById('documents')?.textContent ?? '');
    document.title = `${visible(envelope.verdict, 120)} (ddpsim)`;
    document.body.prepend(page(envelope));
  } catch (error) {
    fallBack(`The report could not be shown: ${error instanceof Error ? error.message : error}`);
  }
});
