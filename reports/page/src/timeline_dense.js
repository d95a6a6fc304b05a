// Lanes too thin for words. Each is one row of pixels, filled in memory and scaled to the height of its lane. Tens of
// thousands of spans take a millisecond this way, and a tenth of a second as rectangles.

/**
 * @typedef {import('./timeline_layout.js').Row} Row
 * @typedef {import('./timeline_paint.js').Drawing} Drawing
 */

/**
 * The value of a pixel in image data: red is the lowest byte.
 * @param {string} colour #rgb or #rrggbb
 */
function pixelOf(colour) {
  const digits = colour.slice(1);
  const full = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  const value = parseInt(full, 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** @param {Drawing} drawing @param {Row[]} rows with lanes */
export function paintDense({context, view, at, colours}, rows) {
  if (!rows.length) return;
  const width = Math.max(1, Math.ceil(view.width - view.left));
  const strip = document.createElement('canvas');
  strip.width = width;
  strip.height = rows.length;
  const draw = /** @type {CanvasRenderingContext2D} */ (strip.getContext('2d'));
  const image = draw.createImageData(width, rows.length);
  const pixels = new Uint32Array(image.data.buffer);
  const pixel = /** @type {Record<string, number>} */ ({});
  for (const [name, colour] of Object.entries(colours))
    if (colour.startsWith('#')) pixel[name] = pixelOf(colour);
  rows.forEach((row, line) => {
    const begin = line * width;
    for (const mark of row.lane?.marks ?? []) {
      if (mark.start > view.to) break;
      if (mark.end < view.from) continue;
      const from = Math.max(0, Math.floor(at(mark.start) - view.left));
      const to = Math.min(width, Math.max(from + 1, Math.round(at(mark.end) - view.left)));
      pixels.fill(pixel[mark.kind], begin + from, begin + to);
      // Waits are striped here, too.
      if (mark.kind === 'exposed' || mark.kind === 'waits')
        for (let x = from + 2; x < to; x += 3) pixels[begin + x] = pixel.card;
    }
  });
  draw.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  rows.forEach((row, line) => context.drawImage(strip, 0, line, width, 1, view.left, row.top, width, row.height));
}
