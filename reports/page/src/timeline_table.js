// Every span of a timeline, as a table.

import {milliseconds} from './units.js';

/** @typedef {import('./timeline_model.js').Group} Group */

/** @param {Group[]} groups @returns {import('./table.js').Table} */
export function spanTable(groups) {
  /** @type {import('./table.js').Value[][]} */
  const rows = [];
  for (const group of groups)
    for (const lane of group.lanes)
      for (const mark of lane.marks)
        rows.push([
          group.title, lane.track, mark.name, mark.bucket, milliseconds.of(mark.start), milliseconds.of(mark.end),
          milliseconds.of(mark.end - mark.start)
        ]);
  return table(rows);
}

/** @param {import('./table.js').Value[][]} rows @returns {import('./table.js').Table} */
function table(rows) {
  const {show} = milliseconds;
  return {
    file: 'timeline',
    columns: [
      {title: 'step', text: true},
      {title: 'track', text: true},
      {title: 'span', text: true},
      {title: 'bucket'},
      {title: 'start', unit: 'ms', show},
      {title: 'end', unit: 'ms', show},
      {title: 'length', unit: 'ms', show},
    ],
    rows,
  };
}
