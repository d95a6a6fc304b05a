// Places the lanes of a timeline.

import {greatest} from './scale.js';
import {bucketRows} from './timeline_model.js';

/**
 * @typedef {import('./timeline_model.js').Group} Group
 * @typedef {import('./timeline_model.js').Lane} Lane
 *
 * @typedef {object} Row
 * @property {Group} group
 * @property {Lane | null} lane null: the lives of buckets
 * @property {string} label
 * @property {number} top
 * @property {number} height
 *
 * @typedef {object} Layout
 * @property {Row[]} rows
 * @property {{group: Group, top: number}[]} titles
 * @property {Map<Group, number[]>} lives row of each bucket's life
 * @property {number} height
 */

export const kAxis = 22;
export const kLife = 9; // of a bucket, one row
const kTitle = 18;
const kGap = 4;
const kMostLives = 40; // rows

/**
 * @param {Group[]} groups
 * @param {boolean} dense many ranks: lanes are thin, and buckets are left to their table
 * @returns {Layout}
 */
export function layOut(groups, dense) {
  const heights = dense ? {host: 3, compute: 9, communication: 7} : {host: 10, compute: 30, communication: 26};
  /** @type {Layout} */
  const layout = {rows: [], titles: [], lives: new Map(), height: 0};
  let y = kAxis;
  for (const group of groups) {
    layout.titles.push({group, top: y});
    if (!dense) y += kTitle;
    for (const lane of group.lanes) {
      if (lane.track === 'host' && !lane.marks.length) continue;
      const height = heights[lane.track];
      layout.rows.push({group, lane, label: dense ? '' : lane.track, top: y, height});
      y += height + (dense ? 1 : kGap);
    }
    if (!dense && group.buckets.length) {
      const lives = bucketRows(group.buckets);
      const count = Math.min(kMostLives, 1 + greatest(0, lives));
      layout.lives.set(group, lives);
      layout.rows.push({group, lane: null, label: 'buckets', top: y, height: count * kLife});
      y += count * kLife + kGap;
    }
    y += dense ? 5 : 12;
  }
  layout.height = y;
  return layout;
}
