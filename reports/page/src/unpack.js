// Documents as they lie in the page: JSON, gzip, base64.

/** @typedef {import('./envelope.js').Envelope} Envelope */

/** What the browser lacks, empty where it lacks nothing. */
export function lacking() {
  return 'DecompressionStream' in window
    ? ''
    : 'This browser cannot unpack the report: Chrome 80, Firefox 113, Safari 16.4 or newer can.';
}

/** @param {string} base64 @returns {Promise<Envelope>} */
export async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}
