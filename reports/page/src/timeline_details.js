// What is selected, in words.

import {html} from './dom.js';
import {name} from './names.js';
import {bytes, time} from './units.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./documents.js').Bucket} Bucket
 */

/** @param {Mark} mark @param {Group} group */
export function markDetails(mark, group) {
  const {parameters} = mark;
  return html(
    'p',
    {},
    html('strong', {}, name(mark.name)),
    ` (${group.title}): ${time(mark.start, 5)} to ${time(mark.end, 5)}, ${time(mark.end - mark.start)}.`,
    parameters ? html('span', {}, ` Gradients of ${parameters.count === 1 ? '' : `${parameters.count} parameters, from `}`, html('code', {}, name(parameters.first, 90)), parameters.count > 1 && ' to ', parameters.count > 1 && html('code', {}, name(parameters.last, 90)), '.') : null,
  );
}

/**
 * Where a bucket's time goes between two instants; nothing where it takes none.
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
  const parts = [
    launch_us > ready_us ? part('ready, waits for its launch', launch_us - ready_us) : part('launched, waits for its gradients', ready_us - launch_us),
    part('queues', start_us - both),
    part(`waits for rank ${bucket.last_rank}`, last_arrival_us - start_us),
    part('on the wire', end_us - Math.max(start_us, last_arrival_us)),
  ].filter(Boolean);
  return html(
    'div',
    {},
    html('p', {}, html('strong', {}, `Bucket ${bucket.index}`), ` (${group.step}): ${bytes(bucket.bytes)} in ${bucket.parameter_indices.length} ${bucket.parameter_indices.length === 1 ? 'gradient' : 'gradients'}, closed by ${bucket.closed_by}${bucket.algorithm ? `; ${bucket.algorithm}, ${bucket.protocol}, ${bucket.channels} channels` : ''}.`),
    html(
      'ol',
      {class: 'life'},
      ...[
        ['launch', launch_us],
        ['ready', ready_us],
        ['start', start_us],
        ['all ranks there', last_arrival_us],
        ['done', end_us],
      ]
        .sort((a, b) => Number(a[1]) - Number(b[1]))
        .map(([what, us]) => html('li', {}, html('span', {}, `${what}`), html('b', {}, time(Number(us), 4)))),
    ),
    html('p', {}, `${parts.join(', ')}. `, bucket.exposed_because ? html('strong', {class: 'exposed'}, 'Exposed: ', name(bucket.exposed_because, 400), '.') : 'Hidden behind backward.'),
  );
}
