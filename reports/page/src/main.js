// Reads the documents in the file and shows them.

import {fallBack, takeOver} from './fall_back.js';
import {visible} from './names.js';
import {page} from './page.js';
import {lacking, unpack} from './unpack.js';

takeOver();

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
