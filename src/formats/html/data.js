/** Bytes of the page's data, decompressed. */
const readData = async () => {
  const text = document.getElementById("data").textContent;
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  }
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
};

/** Splits the data into its JSON object and columns of numbers. */
const parseData = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  let at = 0;
  const block = () => {
    const length = view.getUint32(at, true);
    at += 4 + length;
    return bytes.subarray(at - length, at);
  };
  const header = JSON.parse(new TextDecoder().decode(block()));
  const columns = [];
  while (at < bytes.length) columns.push(decodeNumbers(block()));
  return { header, columns };
};

/** Decodes numbers of variable length. */
const decodeNumbers = (bytes) => {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] < 128) count++;
  const numbers = new Float64Array(count);
  let value = 0, scale = 1, index = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    value += (byte & 127) * scale;
    if (byte < 128) {
      numbers[index++] = value;
      value = 0;
      scale = 1;
    } else {
      scale *= 128;
    }
  }
  return numbers;
};

