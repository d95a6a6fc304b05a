// Describes what is selected.

import {html} from './dom.js';
import {name} from './names.js';
import {bytes, time} from './units.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('documents').Bucket} Bucket
 */

/** @param {Mark} mark @param {Group} group */
export function markDetails(mark, group) {
  const {parameters} = mark;
  const several = parameters && parameters.count > 1;
  return html(
    'p', {}, html('strong', {}, name(mark.name)),
    ` (${group.title}): ${time(mark.start, 5)} to ${time(mark.end, 5)}, ${time(mark.end - mark.start)}.`,
    parameters &&
      html(
        'span', {}, several ? ` Gradients of ${parameters.count} parameters, from ` : ' Gradients of ',
        html('code', {}, name(parameters.first, 90)), several && ' to ',
        several && html('code', {}, name(parameters.last, 90)), '.'));
}

/**
 * What a bucket does between two instants; empty if it takes no time.
 * @param {string} what
 * @param {number} us
 */
function part(what, us) {
  return us > 0.0005 ? `${what} ${time(us)}` : '';
}

/** @param {Bucket} bucket @param {Group} group */
export function bucketDetails(bucket, group) {
  const {ready_us, launch_us, start_us, last_arrival_us, end_us} = bucket;
  const both = Math.max(ready_us, launch_us);
  const gradients =
    bucket.parameter_indices.length === 1 ? '1 gradient' : `${bucket.parameter_indices.length} gradients`;
  const chosen = bucket.algorithm ? `; ${bucket.algorithm}, ${bucket.protocol}, ${bucket.channels} channels` : '';
  const instants = /** @type {[string, number][]} */ ([
    ['launch', launch_us], ['ready', ready_us], ['start', start_us], ['last rank arrives', last_arrival_us],
    ['done', end_us]
  ]);
  instants.sort((a, b) => a[1] - b[1]);
  const parts = [
    launch_us > ready_us
      ? part('ready, then waits for its launch for', launch_us - ready_us)
      : part('launched, then waits for its gradients for', ready_us - launch_us),
    part('queued for', start_us - both),
    part(`waits for rank ${bucket.last_rank} for`, last_arrival_us - start_us),
    part('transfers for', end_us - Math.max(start_us, last_arrival_us)),
  ].filter(Boolean);
  return html(
    'div', {},
    html(
      'p', {}, html('strong', {}, `Bucket ${bucket.index}`),
      ` (${group.step}): ${bytes(bucket.bytes)} in ${gradients}, closed by ${bucket.closed_by}${chosen}.`),
    html(
      'ol', {class: 'life'},
      ...instants.map(([what, us]) => html('li', {}, html('span', {}, what), html('b', {}, time(us, 4))))),
    html(
      'p', {}, `${parts.join(', ')}. `,
      bucket.exposed_because
        ? html('strong', {class: 'exposed'}, 'Exposed: ', name(bucket.exposed_because, 400), '.')
        : 'Hidden behind backward.'));
}
