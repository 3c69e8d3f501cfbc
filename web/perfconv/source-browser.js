// Files outside the memory, in browsers.

/**
 * A Blob, whose parts are read when they are needed: workers can wait for them.
 * @param {Blob} blob
 */
export function sourceOf(blob) {
  const reader = new FileReaderSync();
  const read = (start, end) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(start, end)));
  return { size: blob.size, modified: blob.lastModified, read };
}
