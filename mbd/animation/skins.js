"use strict";
// Skins of flexible bodies: nodes moved by the shapes of a mesh, in the frame of the body.

// Return a table (nodes, width x shapes) of what each shape does, in its own unit.
function ofShapes(where, read) {
  const { values } = read(where), { units } = where, m = units.length;
  for (let i = 0; i < values.length; i++) values[i] *= units[i % m];
  return values;
}

// Return how a skin is built, and its measures at a node.
function skin(x, read, frames) {
  const rest = read(x.x).values, n = rest.length / 3, faces = read(x.faces), p = read(x.p), m = p.columns, bears = x.bears ? read(x.bears) : p;
  const shapes = ofShapes(x.shapes, read), tensors = { strain: ofShapes(x.strain, read) };
  if (x.mises) tensors.mises = ofShapes(x.mises, read);
  const triangles = [], edges = new Map();
  for (let f = 0; f < faces.rows; f++) {
    const [a, b, c, d] = faces.values.subarray(4 * f, 4 * f + 4);
    triangles.push(a, b, c);
    if (c !== d) triangles.push(a, c, d);
    for (const [i, j] of [[a, b], [b, c], [c, d], [d, a]]) {
      if (i !== j) edges.set(Math.min(i, j) * n + Math.max(i, j), [i, j]);
    }
  }

  // Return modal coordinates between two instants.
  function modal({ values, rows }, k, u) {
    const next = Math.min(k + 1, rows - 1);
    return Array.from({ length: m }, (_, j) => (1 - u) * values[k * m + j] + u * values[next * m + j]);
  }
  // Return number c of node v, of `width` numbers.
  function sum(now, table, width, v, c) {
    let total = 0;
    for (let j = 0, at = (v * width + c) * m; j < m; j++) total += table[at + j] * now[j];
    return total;
  }

  function build(look) {
    const array = () => new THREE.BufferAttribute(new Float32Array(3 * n), 3), place = array(), color = array();
    const geometry = new THREE.BufferGeometry().setAttribute("position", place).setAttribute("color", color);
    geometry.setIndex(triangles);
    const offset = { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
    const objects = [new THREE.Mesh(geometry, surfaceOf(look, { vertexColors: true, ...offset }))];
    if (look === "solid" && x.edged) {
      const lines = new THREE.BufferGeometry().setAttribute("position", place).setIndex([...edges.values()].flat());
      objects.push(new THREE.LineSegments(lines, new THREE.LineBasicMaterial({ color: "#20262e", transparent: true, opacity: 0.25 })));
      objects[1].raycast = () => {};
    }
    for (const object of objects) object.frustumCulled = false;
    const frame = frames.get(x.frame), w = new THREE.Vector3();
    return {
      objects,
      lay(k, u) {
        const now = modal(p, k, u);
        for (let v = 0; v < n; v++) {
          w.set(rest[3 * v] + sum(now, shapes, 3, v, 0), rest[3 * v + 1] + sum(now, shapes, 3, v, 1), rest[3 * v + 2] + sum(now, shapes, 3, v, 2));
          w.applyMatrix4(frame.matrixWorld).toArray(place.array, 3 * v);
        }
      },
      paint(of) {
        for (let v = 0; v < n; v++) {
          const { r, g, b } = of(v);
          color.setXYZ(v, r, g, b);
        }
      },
      sent(painted) {
        place.needsUpdate = true;
        geometry.computeVertexNormals(); // nodes at sharp edges are there once for each side
        if (painted) color.needsUpdate = true;
        geometry.boundingSphere = null;
      },
    };
  }

  function measure(name, k, u) {
    const table = tensors[name];
    if (!table) return null;
    const now = modal(bears, k, u), of = name === "strain" ? principal : vonMises;
    return (v) => of(...[0, 1, 2, 3, 4, 5].map((c) => sum(now, table, 6, v, c)));
  }
  return { build, measure };
}

// Return the size of the largest principal value of a tensor.
function principal(xx, yy, zz, xy, yz, zx) {
  const mean = (xx + yy + zz) / 3, a = xx - mean, b = yy - mean, c = zz - mean;
  const size = Math.sqrt((a * a + b * b + c * c + 2 * (xy * xy + yz * yz + zx * zx)) / 6);
  const det = a * (b * c - yz * yz) - xy * (xy * c - yz * zx) + zx * (xy * yz - b * zx);
  const angle = Math.acos(Math.min(1, Math.max(-1, (0.5 * det) / (size || 1) ** 3))) / 3;
  const high = mean + 2 * size * Math.cos(angle), low = mean + 2 * size * Math.cos(angle + (2 * Math.PI) / 3);
  return Math.max(high, -low);
}

function vonMises(xx, yy, zz, xy, yz, zx) {
  return Math.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3 * (xy * xy + yz * yz + zx * zx));
}
