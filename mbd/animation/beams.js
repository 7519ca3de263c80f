"use strict";
// Beams, sections swept along helicoids between two frames, and cables, tubes along hanging bars.
// They are computed from the poses of their nodes; the data have no line of them.

const RINGS = 5; // of an element
const SMOOTH = 0.75; // cosine of the angle between two sides of an outline that is rounded

// Return a surface of k pieces with RINGS rings of n corners each, with a lid at both ends. Each
// corner has two points, with the normals of both sides, so that edges stay sharp.
function buildTube(k, n, look) {
  const around = 2 * n, rings = k * RINGS, lids = rings * around, size = lids + 2 * n;
  const array = (width) => new THREE.BufferAttribute(new Float32Array(width * size), width);
  const geometry = new THREE.BufferGeometry();
  const place = array(3), normal = array(3), color = array(3);
  geometry.setAttribute("position", place).setAttribute("normal", normal).setAttribute("color", color);
  const index = [];
  for (let e = 0; e < k; e++) {
    for (let i = 0; i < RINGS - 1; i++) {
      const here = (e * RINGS + i) * around, next = here + around;
      for (let j = 0; j < n; j++) {
        const a = 2 * j + 1, b = (2 * j + 2) % around;
        index.push(here + a, here + b, next + b, here + a, next + b, next + a);
      }
    }
  }
  for (const first of [lids, lids + n]) for (let j = 2; j < n; j++) index.push(first, first + j - 1, first + j);
  geometry.setIndex(index);
  const mesh = new THREE.Mesh(geometry, surfaceOf(look, { vertexColors: true }));
  mesh.frustumCulled = false;

  // Put ring i with an outline at p, between axes one (along), two and three.
  function ring(i, p, [one, two, three], { corners, normals }) {
    for (let v = 0; v < around; v++) {
      const c = v & ~1, y = corners[c], z = corners[c + 1], ny = normals[2 * v], nz = normals[2 * v + 1];
      const at = i * around + v;
      place.setXYZ(at, p.x + y * two.x + z * three.x, p.y + y * two.y + z * three.y, p.z + y * two.z + z * three.z);
      normal.setXYZ(at, ny * two.x + nz * three.x, ny * two.y + nz * three.y, ny * two.z + nz * three.z);
    }
    if (i !== 0 && i !== rings - 1) return;
    const sign = i === 0 ? -1 : 1, first = i === 0 ? lids : lids + n;
    for (let j = 0; j < n; j++) {
      const from = i * around + 2 * j;
      place.setXYZ(first + j, place.getX(from), place.getY(from), place.getZ(from));
      normal.setXYZ(first + j, sign * one.x, sign * one.y, sign * one.z);
    }
  }

  // Colour all by a function of ring and corner.
  function paint(of) {
    for (let i = 0; i < rings; i++) {
      const lid = i === 0 ? lids : i === rings - 1 ? lids + n : -1;
      for (let j = 0; j < n; j++) {
        const { r, g, b } = of(i, j), v = i * around + 2 * j;
        color.setXYZ(v, r, g, b);
        color.setXYZ(v + 1, r, g, b);
        if (lid >= 0) color.setXYZ(lid + j, r, g, b);
      }
    }
  }

  function sent(painted) {
    place.needsUpdate = normal.needsUpdate = true;
    if (painted) color.needsUpdate = true;
    geometry.boundingSphere = null;
  }
  return { objects: [mesh], ring, paint, sent };
}

// Return corners y, z one behind the other, and two normals for each corner.
function profile(corners) {
  const n = corners.length / 2, sides = [];
  let area = 0;
  for (let j = 0; j < n; j++) {
    const k = (j + 1) % n;
    area += corners[2 * j] * corners[2 * k + 1] - corners[2 * k] * corners[2 * j + 1];
  }
  for (let j = 0; j < n; j++) {
    const k = (j + 1) % n, y = corners[2 * k] - corners[2 * j], z = corners[2 * k + 1] - corners[2 * j + 1];
    const long = (Math.hypot(y, z) || 1) * Math.sign(area || 1);
    sides.push([z / long, -y / long]);
  }
  const normals = new Float64Array(4 * n);
  for (let j = 0; j < n; j++) {
    let before = sides[(j + n - 1) % n], after = sides[j];
    if (before[0] * after[0] + before[1] * after[1] > SMOOTH) {
      const y = before[0] + after[0], z = before[1] + after[1], long = Math.hypot(y, z);
      before = after = [y / long, z / long];
    }
    normals.set([...before, ...after], 4 * j);
  }
  return { corners, normals };
}

// Return the outline of ring i of an element between those at its ends.
function between(a, b, s) {
  if (a === b) return a;
  const mix = (x, y) => x.map((v, i) => (1 - s) * v + s * y[i]);
  return { corners: mix(a.corners, b.corners), normals: mix(a.normals, b.normals) };
}

// Return the function that lays a beam along its helicoids:
// H(s) = H_a exp(s e), e = log(H_a^-1 H_b), with the turn t and the translation u,
// x = (I + a t~ + b t~^2) u.
function layBeam(tube, sweep, read, frames) {
  const k = sweep.ends.length, flat = read(sweep.outline), size = flat.columns, known = new Map();
  const outline = (row) => {
    const corners = Array.from(flat.values.subarray(row * size, (row + 1) * size)), key = corners.join();
    if (!known.has(key)) known.set(key, profile(corners));
    return known.get(key);
  };
  const rings = [];
  for (let e = 0; e < k; e++) {
    for (let i = 0; i < RINGS; i++) rings.push(between(outline(2 * e), outline(2 * e + 1), i / (RINGS - 1)));
  }
  const end = () => ({ r: new THREE.Vector3(), q: new THREE.Quaternion() });
  const ends = [end(), end()], local = new THREE.Quaternion();
  const x = new THREE.Vector3(), t = new THREE.Vector3(), u = new THREE.Vector3(), c = new THREE.Vector3();
  const p = new THREE.Vector3(), q = new THREE.Quaternion(), axes = [0, 1, 2].map(() => new THREE.Vector3());

  return () => {
    for (let e = 0; e < k; e++) {
      for (const [side, { r, q }] of ends.entries()) {
        const frame = frames.get(sweep.ends[e][side]), [w, a, b, d] = sweep.axes[e][side];
        frame.localToWorld(r.fromArray(sweep.points[e][side]));
        q.copy(frame.quaternion).multiply(local.set(a, b, d, w));
      }
      const [a, b] = ends;
      local.copy(a.q).conjugate();
      x.copy(b.r).sub(a.r).applyQuaternion(local);
      local.multiply(b.q);
      const sign = local.w < 0 ? -1 : 1, half = Math.hypot(local.x, local.y, local.z);
      const angle = 2 * Math.atan2(half, sign * local.w);
      t.set(local.x, local.y, local.z).multiplyScalar(half > 1e-9 ? (sign * angle) / half : 2 * sign);
      // u = (I - t~/2 + d t~^2) x
      const d = angle > 1e-3 ? (1 - (angle / 2) / Math.tan(angle / 2)) / angle ** 2 : 1 / 12;
      c.crossVectors(t, x);
      u.copy(x).addScaledVector(c, -0.5).addScaledVector(c.cross(t), -d);
      for (let i = 0; i < RINGS; i++) {
        const s = i / (RINGS - 1), f = s * angle;
        const A = f > 1e-3 ? (1 - Math.cos(f)) / f ** 2 : 0.5, B = f > 1e-3 ? (f - Math.sin(f)) / f ** 3 : 1 / 6;
        c.crossVectors(t, u).multiplyScalar(s);
        p.copy(u).addScaledVector(c, A).addScaledVector(c.cross(t), -B * s).multiplyScalar(s);
        p.applyQuaternion(a.q).add(a.r);
        if (angle > 1e-12) q.setFromAxisAngle(c.copy(t).divideScalar(angle), f).premultiply(a.q);
        else q.copy(a.q);
        axes.forEach((axis, j) => axis.set(j === 0, j === 1, j === 2).applyQuaternion(q));
        tube.ring(e * RINGS + i, p, axes, rings[e * RINGS + i]);
      }
    }
  };
}

const AROUND = 10; // corners of a cable

// Return the function that hangs a cable between its frames: where a bar of length l is longer than the
// distance d of its ends, it is a parabola with the sag 0.45 sqrt(l^2 - d^2).
function layCable(tube, strand, frames, up) {
  const circle = [];
  for (let j = 0; j < AROUND; j++) {
    circle.push(strand.radius * Math.cos((2 * Math.PI * j) / AROUND), strand.radius * Math.sin((2 * Math.PI * j) / AROUND));
  }
  const outline = profile(circle);
  const a = new THREE.Vector3(), d = new THREE.Vector3(), p = new THREE.Vector3();
  const axes = [0, 1, 2].map(() => new THREE.Vector3()), [one, two, three] = axes;
  return () => {
    for (let e = 0; e < strand.lengths.length; e++) {
      a.setFromMatrixPosition(frames.get(strand.ends[e]).matrixWorld);
      d.setFromMatrixPosition(frames.get(strand.ends[e + 1]).matrixWorld).sub(a);
      const sag = 0.45 * Math.sqrt(Math.max(strand.lengths[e] ** 2 - d.lengthSq(), 0));
      for (let i = 0; i < RINGS; i++) {
        const s = i / (RINGS - 1);
        p.copy(a).addScaledVector(d, s).addScaledVector(up, -4 * s * (1 - s) * sag);
        one.copy(d).addScaledVector(up, -4 * (1 - 2 * s) * sag).normalize();
        const [x, y, z] = [Math.abs(one.x), Math.abs(one.y), Math.abs(one.z)];
        two.set(x <= y && x <= z, y < x && y <= z, z < x && z < y).cross(one).normalize();
        three.crossVectors(one, two);
        tube.ring(e * RINGS + i, p, axes, outline);
      }
    }
  };
}

// Return how a beam or a cable is built, and what it bears at ring i and corner j: a function, or null.
function slender(x, read, frames, up) {
  const k = x.ends.length - (x.lengths ? 1 : 0), outline = x.lengths ? null : read(x.outline);
  const n = outline ? outline.columns / 2 : AROUND, strain = outline && read(x.strain);
  const loads = Object.fromEntries(Object.entries(x.loads).map(([name, where]) => [name, read(where)]));
  const between = ({ values, rows, columns }, k, u) => {
    const next = Math.min(k + 1, rows - 1);
    return (c) => (1 - u) * values[k * columns + c] + u * values[next * columns + c];
  };
  // of end e: the first of element 0, its last, the first of element 1 ...
  function atEnds(name, k, u) {
    if (loads[name]) return between(loads[name], k, u);
    if (!strain || (name !== "strain" && !(name === "stress" && x.young))) return null;
    const of = between(strain, k, u), { values, columns } = outline;
    return (e, j) => {
      const y = values[e * columns + 2 * j] / x.arm, z = values[e * columns + 2 * j + 1] / x.arm;
      return (name === "stress" ? x.young[e] : 1) * (of(3 * e) + of(3 * e + 1) * z - of(3 * e + 2) * y);
    };
  }
  return {
    build(look) {
      const tube = buildTube(k, n, look);
      return { ...tube, lay: x.lengths ? layCable(tube, x, frames, up) : layBeam(tube, x, read, frames) };
    },
    measure(name, k, u) {
      const of = atEnds(name, k, u);
      return of && ((i, j) => {
        const e = 2 * Math.floor(i / RINGS), s = (i % RINGS) / (RINGS - 1);
        return (1 - s) * of(e, j) + s * of(e + 1, j);
      });
    },
  };
}

// Return the colours of numbers from -1 to 1, linear between those given.
function buildShade(colors) {
  const stops = colors.map((c) => new THREE.Color(c)), mixed = new THREE.Color();
  return (x) => {
    const at = (0.5 + 0.5 * Math.min(1, Math.max(-1, x || 0))) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    return mixed.copy(stops[i]).lerp(stops[i + 1], at - i);
  };
}

// Add all that bends, and faint ones at each ghost; return their update, and how they are coloured.
function buildBending(data, read, frames, at, add) {
  const shade = buildShade(data.colors), up = new THREE.Vector3().fromArray(data.up);
  const plain = new THREE.Color(), grey = new THREE.Color("#a9b0b8");
  const bodies = [...data.sweeps, ...data.strands, ...data.skins].map((x) => {
    const { build, measure } = x.faces ? skin(x, read, frames) : slender(x, read, frames, up);
    const surface = build("solid");
    for (const object of surface.objects) {
      object.userData.label = x.label;
      add(object);
    }
    for (const ghost of data.ghosts) {
      const faint = build("ghost");
      at(ghost);
      faint.lay(ghost, 0);
      faint.paint(() => plain.set(x.color));
      faint.sent(true);
      for (const object of faint.objects) add(object);
    }
    return { surface, measure, color: x.color };
  });
  const state = { by: data.colorBy, painted: null };

  function update(k, u) {
    const far = data.largest[state.by] || 1;
    for (const { surface, measure, color } of bodies) {
      const of = state.by && measure(state.by, k, u), anew = of || state.painted !== state.by;
      surface.lay(k, u);
      if (of) surface.paint((i, j) => shade(of(i, j) / far));
      else if (anew) surface.paint(() => (state.by ? grey : plain.set(color)));
      surface.sent(anew);
    }
    state.painted = state.by;
  }
  return { update, colorBy(name) { state.by = name; } };
}
