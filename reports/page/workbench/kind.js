// The kind of a file, by how it begins. It decides which command reads the file.

const kHead = 65536; // bytes

/** @typedef {'cluster' | 'log' | 'workload' | 'recording'} Kind */

/** @param {Blob} file @returns {Promise<string>} */
async function head(file) {
  const first = new Uint8Array(await file.slice(0, kHead).arrayBuffer());
  if (first[0] !== 0x1f || first[1] !== 0x8b) return new TextDecoder().decode(first);
  // A cut-off text ends with an error, after the part that matters.
  const reader = new Blob([first]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  let text = '';
  const decoder = new TextDecoder();
  try {
    for (let piece = await reader.read(); !piece.done && text.length < kHead; piece = await reader.read())
      text += decoder.decode(piece.value, {stream: true});
  } catch {
    // cut off
  }
  reader.cancel().catch(() => {});
  return text;
}

/** @param {Blob} file @returns {Promise<Kind>} */
export async function kindOf(file) {
  const text = await head(file);
  const schema = /"schema"\s*:\s*"ddpsim\.(\w+)\//.exec(text)?.[1];
  if (schema === 'cluster' || schema === 'workload') return schema;
  if (/^\s*(<\?xml|<system)/.test(text) || /^\s*(\S*\[4m)?GPU0\b/.test(text)) return 'cluster';
  if (!/^\s*[{[]/.test(text) && /# nThread|out-of-place|#\s+size\s+count\s+type/.test(text)) return 'log';
  return 'recording';
}
