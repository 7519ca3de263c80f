"use strict";
// Reads what pack.py wrote.

// Return the bytes of a block of the page: base64 of a gzip stream.
async function inflate(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Return a table: { rows, columns, values }, values row by row. In the stream it stands column by
// column, as differences d of neighbours, written as 2d or -2d-1, all lowest bytes first.
function table(bytes, { at, rows, columns, step }) {
  const n = rows * columns;
  const values = new Float64Array(n);
  for (let c = 0, k = at; c < columns; c++) {
    let whole = 0;
    for (let r = 0; r < rows; r++, k++) {
      const z = (bytes[k] | (bytes[k + n] << 8) | (bytes[k + 2 * n] << 16) | (bytes[k + 3 * n] << 24)) >>> 0;
      whole += z & 1 ? -(z + 1) / 2 : z / 2;
      values[r * columns + c] = whole * step;
    }
  }
  return { rows, columns, values };
}
