// How a timeline is painted: fonts, colours, stripes.

/** @typedef {Record<string, string>} Colours by name, as the style sheet has them */

export const kFont = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
export const kBold = `600 ${kFont}`;

const kNames = [
  'ink', 'mute', 'line', 'card', 'forward', 'backward', 'copies', 'optimizer', 'reduce', 'host', 'waits', 'exposed',
  'other', 'on-forward', 'on-backward', 'on-reduce', 'on-exposed', 'queued', 'mark'
];

/** @param {Element} element @returns {Colours} */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return Object.fromEntries(kNames.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * Stripes tell what is waited for from what is done, without colour.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {string} paper
 */
export function stripes(context, colour, paper) {
  const size = 7;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const draw = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
  draw.fillStyle = colour;
  draw.fillRect(0, 0, size, size);
  draw.strokeStyle = paper;
  draw.lineWidth = 1.6;
  draw.beginPath();
  for (const shift of [-size, 0, size]) {
    draw.moveTo(shift - 1, size + 1);
    draw.lineTo(shift + size + 1, -1);
  }
  draw.stroke();
  return context.createPattern(tile, 'repeat') ?? colour;
}
