// Step time by bucket cap: today, what is recommended, how wide the plateau is, where the cliffs are, what no cap can
// beat.

import {cardElement} from './card.js';
import {html, svg} from './dom.js';
import {axes, chart, label, path, picture} from './plot.js';
import {greatest, linear, logarithmic, smallest} from './scale.js';
import {bytes, counted, fixed, milliseconds, time, timeUnit} from './units.js';

/**
 * @typedef {import('./documents.js').Tune} Tune
 * @typedef {import('./documents.js').CurvePoint} CurvePoint
 */

const kLeastCap = 0.25; // MiB: below, kernels alone are launched

/**
 * Caps one passes by themselves, by cap.
 * @param {Tune} tune
 * @returns {CurvePoint[]}
 */
export function simplePoints(tune) {
  return tune.curve
    .filter(
      (point) => point.reachable && point.bucket_cap_mb !== null &&
        (point.first_bucket_mb === point.bucket_cap_mb || point.first_bucket_mb === null ||
         point.first_bucket_mb === tune.default.first_bucket_mb))
    .sort((a, b) => a.cap_range_mb[0] - b.cap_range_mb[0]);
}

/** @param {number | null} mb */
function cap(mb) {
  return mb === null ? '' : `${Number(mb.toPrecision(4))}`;
}

/** @param {Tune} tune */
export function capCurveCard(tune) {
  const points = simplePoints(tune).filter((point) => point.cap_range_mb[1] >= kLeastCap);
  const today = tune.today?.iteration_us ?? tune.default.iteration_us;
  const {recommended} = tune;
  const table = curveTable(tune);
  if (points.length < 2) return cardElement({title: 'Step time by bucket cap', table, tableShown: true, body: []});

  const from = Math.max(kLeastCap, smallest(Infinity, points.map((point) => point.cap_range_mb[0])));
  const to =
    greatest(from * 1.5, points.map((point) => Math.min(point.cap_range_mb[1], 4 * point.cap_range_mb[0] + 1)));
  const seen = points.filter((point) => point.cap_range_mb[1] >= 1 || point.iteration_us <= today);
  const hoped = today - Math.max(0, recommended.gain_us?.high ?? 0) * (recommended.action === 'set' ? 1 : 0);
  const least =
    smallest(Math.min(hoped, tune.best_partition?.iteration_us ?? Infinity), points.map((point) => point.iteration_us));
  const slowest = greatest(today, (seen.length ? seen : points).map((point) => point.iteration_us));
  // What is much slower than today leaves through the top: what is near it decides.
  const most = Math.min(slowest, today + Math.max(2.5 * (today - least), 3 * recommended.measurable_us));
  const range = Math.max(most - least, recommended.measurable_us * 2, today * 1e-4);
  const bound = tune.lower_bound_us >= least - range * 0.6 ? tune.lower_bound_us : null;
  const low = Math.min(least, bound ?? least) - range * 0.06;
  const high = most + range * 0.06;
  const unit = timeUnit(today);

  const readout = html('p', {class: 'readout', 'aria-live': 'polite'});
  /** @type {{at: number, show: (index: number) => void}} */
  const cursor = {at: -1, show: () => {}};

  /** @param {number} mb */
  const pointAt = (mb) => Math.max(0, points.filter((point) => point.cap_range_mb[0] <= mb).length - 1);

  const draw = (/** @type {number} */ width) => {
    const height = width < 520 ? 300 : 340;
    const box = {left: 52, right: width - 10, top: 24, bottom: height - 42};
    const x = logarithmic([from, to], [box.left, box.right]);
    const y = linear([low / unit.us, high / unit.us], [box.bottom, box.top], 5);
    const up = (/** @type {number} */ us) => y.place(us / unit.us);
    const into = picture(width, height);
    const step = y.ticks.length > 1 ? y.ticks[1] - y.ticks[0] : 1;
    const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    axes(into, box, x, y, {
      x: (mb) => cap(mb),
      y: (value) => fixed(value, places),
      xTitle: 'bucket_cap_mb, MiB',
      yTitle: `step, ${unit.name}`
    });
    const clip = svg('g', {});
    into.append(clip);

    // As good as it, and what cannot be told apart from today.
    if (recommended.measurable_us)
      clip.append(svg('rect', {
        class: 'measurable',
        x: box.left,
        width: box.right - box.left,
        y: up(today),
        height: Math.max(0, Math.min(box.bottom, up(today - recommended.measurable_us)) - up(today))
      }));
    if (recommended.action === 'set' && recommended.cap_range_mb) {
      const [a, b] = recommended.cap_range_mb.map((mb) => x.place(Math.min(to, Math.max(from, mb))));
      clip.append(
        svg('rect', {class: 'plateau', x: a, width: Math.max(2, b - a), y: box.top, height: box.bottom - box.top}));
    }
    if (points.some((point) => point.if_communication_us !== undefined))
      clip.append(path(
        'reading',
        stepLine(points, x, up, from, to, box.top, (point) => point.if_communication_us ?? point.iteration_us)));
    clip.append(path('curve', stepLine(points, x, up, from, to, box.top)));
    if (points.length <= 40)
      for (const point of points)
        if (up(point.iteration_us) >= box.top - 1)
          clip.append(svg('circle', {
            class: 'point',
            cx: x.place(Math.min(to, Math.max(from, point.bucket_cap_mb ?? from))),
            cy: up(point.iteration_us),
            r: 2.5
          }));

    // Each label stands at the end of its line where no other does: the right, else the left.
    /** @type {{y: number, right: boolean}[]} */
    const told = [];
    const level =
      (/** @type {number} */ us, /** @type {string} */ kind, /** @type {string} */ text,
       /** @type {boolean} */ below) => {
        const at = up(us) + (below ? 14 : -5);
        const right = !told.some((one) => one.right && Math.abs(one.y - at) < 15);
        told.push({y: at, right});
        clip.append(svg('line', {class: kind, x1: box.left, x2: box.right, y1: up(us), y2: up(us)}));
        labels.append(
          label(text, right ? box.right - 4 : box.left + 6, at, {anchor: right ? 'end' : 'start', kind: 'halo'}));
      };
    const labels = svg('g');
    const partition = tune.best_partition;
    if (bound !== null) level(bound, 'bound', `collectives take no time: ${time(bound, 4)}`, false);
    if (partition)
      level(
        partition.iteration_us, 'partition', `best of all partitions: ${time(partition.iteration_us, 4)}`,
        up(partition.iteration_us) < box.bottom - 18);
    level(today, 'today', `today ${time(today, 4)}`, up(today) < box.top + 20);
    if (slowest > most)
      labels.append(label('↑ much slower', box.right - 4, box.top + 12, {anchor: 'end', kind: 'small'}));

    if (recommended.action === 'set' && recommended.bucket_cap_mb !== null) {
      const at = x.place(Math.min(to, Math.max(from, recommended.bucket_cap_mb)));
      const {value, low: worst, high: best} = recommended.gain_us;
      const [bottom, top] = [up(today - worst), up(today - best)];
      clip.append(
        path('whisker', `M${at} ${bottom}V${top}M${at - 4} ${bottom}h8M${at - 4} ${top}h8`),
        svg('circle', {class: 'advised', cx: at, cy: up(today - value), r: 5.5}),
        label(`${cap(recommended.bucket_cap_mb)} MiB`, at, box.top - 7, {
          anchor: at > box.right - 40 ? 'end'
            : at < box.left + 40      ? 'start'
                                      : 'middle',
          kind: 'advised-label'
        }));
    }
    const next = recommended.next_worse;
    for (const [mb, loss] of next ? [[next.below_mb, next.below_loss_us], [next.above_mb, next.above_loss_us]] : []) {
      if (mb === null || loss === null || mb < from || mb > to) continue;
      const at = x.place(mb);
      clip.append(path('cliff', `M${at} ${box.bottom}v-10M${at - 4} ${box.bottom - 5}l4 -6l4 6`));
    }

    const mark = svg('g', {class: 'cursor'});
    into.append(labels, mark);
    cursor.show = (index) => {
      cursor.at = Math.max(0, Math.min(points.length - 1, index));
      const point = points[cursor.at];
      const [a, b] = point.cap_range_mb.map((mb) => x.place(Math.min(to, Math.max(from, mb))));
      const at = (a + b) / 2;
      mark.replaceChildren(
        svg('line', {x1: at, x2: at, y1: box.top, y2: box.bottom}),
        svg('circle', {cx: at, cy: Math.max(box.top, up(point.iteration_us)), r: 4}));
      readout.textContent = describe(point, today);
    };
    const nearest = (/** @type {MouseEvent} */ event) => {
      const bounds = into.getBoundingClientRect();
      return pointAt(x.value(((event.clientX - bounds.left) / bounds.width) * width));
    };
    into.addEventListener('pointermove', (event) => cursor.show(nearest(event)));
    into.addEventListener('pointerdown', (event) => cursor.show(nearest(event)));
    if (cursor.at >= 0) cursor.show(cursor.at);
    return into;
  };

  const stage = html(
    'div', {
      class: 'stage',
      tabindex: 0,
      role: 'application',
      'aria-label': 'Step time by bucket cap; arrow keys go from cap to cap'
    },
    chart(
      draw,
      `Step time by bucket cap, ${counted(points.length, 'bucketing')}: ` +
        `today ${time(today)}, fastest ${time(tune.best.iteration_us)}`));
  const first = points.findIndex(
    (point) => recommended.bucket_cap_mb !== null && point.cap_range_mb[0] <= recommended.bucket_cap_mb &&
      recommended.bucket_cap_mb <= point.cap_range_mb[1]);
  stage.addEventListener('keydown', (event) => {
    const by = /** @type {Record<string, number>} */ (
      {ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -1e9, End: 1e9})[event.key];
    if (by === undefined) return;
    cursor.show(cursor.at < 0 ? Math.max(0, first) : cursor.at + by);
    event.preventDefault();
  });
  readout.textContent = 'Point at the curve, or use the arrow keys, to read a cap.';

  const list = html('ul', {class: 'legend', 'aria-label': 'Legend'});
  const entry = (/** @type {string} */ kind, /** @type {string} */ words) =>
    list.append(html('li', {}, html('i', {class: `swatch ${kind}`}), words));
  if (recommended.action === 'set' && recommended.bucket_cap_mb !== null) {
    entry('advised', 'recommended, with its interval');
    entry('plateau', `as good: ${(recommended.cap_range_mb ?? []).map(cap).join(' to ')} MiB`);
  }
  if (recommended.measurable_us)
    entry('measurable', `less than can be measured (${time(recommended.measurable_us, 2)})`);
  if (points.some((point) => point.if_communication_us !== undefined))
    entry('reading', 'if communication is what the replay misses');
  const worse = recommended.next_worse;
  const cliffs = [];
  if (worse && worse.below_mb !== null)
    cliffs.push(`${cap(worse.below_mb)} MiB (+${time(worse.below_loss_us ?? 0, 2)})`);
  if (worse && worse.above_mb !== null)
    cliffs.push(`${cap(worse.above_mb)} MiB (+${time(worse.above_loss_us ?? 0, 2)})`);
  if (cliffs.length) entry('cliff', `next worse: ${cliffs.join(', ')}`);
  const some = points.length < tune.bucketings
    ? `${points.length} of ${tune.bucketings} bucketings`
    : `${counted(points.length, 'bucketing')}, each simulated`;
  const card = cardElement({
    title: 'Step time by bucket cap',
    about: `${some}; caps that give the same buckets are one level of the line.`,
    body: [list, stage, readout],
    table
  });
  // Who sets a cap elsewhere shows where on the curve it is.
  card.addEventListener('cap', (event) => cursor.show(pointAt(/** @type {CustomEvent<number>} */ (event).detail)));
  return card;
}

/**
 * Level over the caps that give the same buckets, then straight down or up.
 * @param {CurvePoint[]} points
 * @param {import('./scale.js').Scale} x
 * @param {(us: number) => number} up
 * @param {number} from
 * @param {number} to
 * @param {number} top where much slower steps leave the chart
 * @param {(point: CurvePoint) => number} [of]
 */
function stepLine(points, x, up, from, to, top, of = (point) => point.iteration_us) {
  let d = '';
  for (const point of points) {
    const [a, b] = point.cap_range_mb.map((mb) => x.place(Math.min(to, Math.max(from, mb))).toFixed(1));
    const y = Math.max(top - 2, up(of(point))).toFixed(1);
    d += d ? `H${a}V${y}H${b}` : `M${a} ${y}H${b}`;
  }
  return d;
}

/** @param {CurvePoint} point @param {number} today */
function describe(point, today) {
  const [low, high] = point.cap_range_mb;
  const gain = today - point.iteration_us;
  const caps = low === high ? cap(low) : `${cap(low)} to ${cap(high)}`;
  const against =
    Math.abs(gain) < 0.5 ? 'as today' : `${time(Math.abs(gain))} ${gain > 0 ? 'shorter' : 'longer'} than today`;
  return `${caps} MiB: ${time(point.iteration_us, 4)}, ${against}; ` +
    `${counted(point.buckets, 'bucket')}, ${time(point.blocking_communication_us)} blocked by communication.`;
}

/** @param {Tune} tune @returns {import('./table.js').Table} */
function curveTable(tune) {
  return {
    file: 'caps',
    columns: [
      {title: 'bucket_cap_mb', unit: 'MiB', show: (value) => cap(Number(value))},
      {title: 'first bucket', unit: 'MiB', show: (value) => cap(Number(value))},
      {title: 'same buckets from', unit: 'MiB', show: (value) => cap(Number(value))},
      {title: 'to', unit: 'MiB', show: (value) => cap(Number(value))},
      {title: 'step', unit: 'ms', show: milliseconds.show},
      {title: 'blocked by communication', unit: 'ms', show: milliseconds.show},
      {title: 'buckets'},
    ],
    rows: tune.curve.map(
      (point) =>
        [point.bucket_cap_mb, point.first_bucket_mb, ...point.cap_range_mb, milliseconds.of(point.iteration_us),
         milliseconds.of(point.blocking_communication_us), point.buckets]),
  };
}

/** @param {number[]} sizes */
export function sizesText(sizes) {
  return sizes.map(bytes).join(', ');
}
