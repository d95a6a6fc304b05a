// Finds what lies under a point of the timeline.

import {kLife} from './timeline_layout.js';

/**
 * @typedef {import('./timeline_model.js').Mark} Mark
 * @typedef {import('./timeline_layout.js').Layout} Layout
 * @typedef {import('./timeline_paint.js').Selection} Selection
 */

/**
 * @param {Layout} layout
 * @param {number} y
 * @param {number} us
 * @param {number} near microseconds that a finger may miss by
 * @returns {Selection | null}
 */
export function hit(layout, y, us, near) {
  for (const row of layout.rows) {
    if (y < row.top - 2 || y > row.top + row.height + 2) continue;
    const {group} = row;
    if (!row.lane) {
      const lives = layout.lives.get(group) ?? [];
      const life = Math.floor((y - row.top) / kLife);
      const bucket =
        group.buckets.find((one, i) => lives[i] === life && one.ready_us - near <= us && us <= one.end_us + near);
      return bucket ? {group, bucket: bucket.index, mark: null} : null;
    }
    /** @type {Mark | null} */
    let best = null;
    let distance = near;
    for (const mark of row.lane.marks) {
      const away = us < mark.start ? mark.start - us : us > mark.end ? us - mark.end : 0;
      // If several overlap, the later one lies on top.
      if (away < distance || (away === 0 && distance === 0)) [best, distance] = [mark, away];
    }
    return best && {group, bucket: best.bucket, mark: best};
  }
  return null;
}
