"use strict";
// Everything that is seen: solids and wires fixed to frames, links between them, beams, arrows, trails.
// Frames are three.js groups; "ground" is the model's. Nothing here knows the clock or the camera.

// Return w, x, y, z as three.js has it.
function turn(q) {
  return new THREE.Quaternion(q[1], q[2], q[3], q[0]);
}

function buildWorld(data, bytes) {
  const read = (where) => table(bytes, where);
  const times = read(data.t).values.map((t) => t + data.start);
  const root = new THREE.Group();
  const ground = new THREE.Group(); // graphics has its origin where the model is
  ground.position.fromArray(data.origin).negate();
  root.add(ground);
  const frames = new Map([["ground", ground]]);
  const moving = [];
  const span = { from: 0, to: times.length - 1 }; // the instants of what plays
  const updates = []; // functions of (frame index k, share u of the way to k + 1)
  const layers = new Map(data.show.map((name) => [name, []]));
  const layer = (name) => layers.get(name) ?? layers.set(name, []).get(name);

  for (const f of data.frames) {
    const group = new THREE.Group();
    frames.set(f.name, group);
    root.add(group);
    moving.push(pose(group, read(f.position), f.quaternion && read(f.quaternion), f.scale && read(f.scale)));
  }

  const batches = buildBatches(root, layer);
  const line = (color) => new THREE.LineBasicMaterial({ color });
  root.updateMatrixWorld(true);
  const at = (k) => { setPoses(moving, k, 0); root.updateMatrixWorld(true); };
  const once = []; // what is set when all copies are known
  const matrix = new THREE.Matrix4();

  for (const s of data.solids) {
    const [key, make, size] = FORMS[s.form](s, read);
    const own = new THREE.Matrix4().compose(
      new THREE.Vector3().fromArray(s.at ?? [0, 0, 0]), turn(s.quaternion ?? [1, 0, 0, 0]), new THREE.Vector3().fromArray(size));
    const more = { color: s.color, label: s.label, on: s.layer };
    const slots = [batches.add(key, make, more)];
    if (EDGED.has(s.form)) {
      slots.push(batches.add(key, make, { ...more, color: new THREE.Color(s.color).multiplyScalar(0.45), lines: true }));
    }
    const frame = frames.get(s.frame);
    const put = (some) => {
      matrix.multiplyMatrices(frame.matrixWorld, own);
      for (const slot of some) slot.set(matrix);
    };
    if (frame === ground) once.push(() => put(slots)); else updates.push(() => put(slots));
    if (s.layer !== "bodies" || frame === ground) continue;
    for (const ghost of data.ghosts) {
      const faint = [batches.add(key, make, { ...more, look: "ghost" })];
      once.push(() => { at(ghost); put(faint); });
    }
  }

  for (const w of data.wires) {
    const wire = new THREE.Line(points(w.points.flat()), line(w.color));
    wire.userData.label = w.label;
    frames.get(w.frame).add(wire);
    layer(w.layer).push(wire);
  }

  const local = new THREE.Vector3();
  const place = (end, into) => frames.get(end.frame).localToWorld(into.copy(local.fromArray(end.point)));
  for (const l of data.links) {
    const more = { color: l.color, label: l.label, on: l.layer };
    updates.push(stretch(batches.add(l.form, l.form === "coil" ? coil : rod, more), l, place));
  }

  const size = new THREE.Vector3().fromArray(data.high).distanceTo(new THREE.Vector3().fromArray(data.low));
  for (const a of data.arrows) {
    const more = { color: a.color, label: a.label, on: a.layer, look: "over" };
    const shaft = batches.add("rod", rod, more);
    const heads = Array.from({ length: a.unit === "N m" ? 2 : 1 }, () => batches.add("cone", cone, more));
    const [value, length] = data.scales[a.unit];
    updates.push(point(shaft, heads, a, read(a.vectors), length / value, 0.006 * size, place));
  }

  batches.finish();
  for (const put of once) put();
  const bending = buildBending(data, read, frames, at, (mesh) => { root.add(mesh); layer("bodies").push(mesh); });

  for (const t of data.trails) {
    const trail = trailOf(t, times.length, at, place, span);
    root.add(trail.object);
    layer("trails").push(trail.object);
    updates.push(trail.update);
  }

  const grid = gridOf(data);
  root.add(grid);
  layer("grid").push(grid);

  // Names and functions that return where they belong: the middle of their ends.
  const labels = data.labels.map(({ text, layer, ends }) => ({
    text, layer,
    at: (into) => {
      const sum = new THREE.Vector3();
      for (const end of ends) sum.add(place(end, into));
      return into.copy(sum).divideScalar(ends.length);
    },
  }));

  // Show time t: the poses between the two instants around it.
  function update(t) {
    const [k, u] = bracket(times, t);
    setPoses(moving, k, u);
    root.updateMatrixWorld(true);
    for (const f of updates) f(k, u);
    bending.update(k, u);
    batches.sent();
  }
  return { root, times, frames, layers, labels, size, update, grid, colorBy: bending.colorBy,
    only: ({ from, to }) => Object.assign(span, { from, to }) };
}

// Return index k and share u with t = (1 - u) times[k] + u times[k + 1].
function bracket(times, t) {
  const last = times.length - 1;
  if (last === 0 || t <= times[0]) return [0, 0];
  if (t >= times[last]) return [last, 0];
  let low = 0, high = last;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return [low, (t - times[low]) / (times[high] - times[low])];
}

function setPoses(moving, k, u) {
  for (const f of moving) f(k, u);
}

// Return the function that poses a frame: positions on the line, rotations on the great arc between
// two instants.
function pose(group, position, quaternion, scale) {
  const a = new THREE.Vector3(), b = new THREE.Vector3();
  const p = new THREE.Quaternion(), q = new THREE.Quaternion();
  return (k, u) => {
    const next = Math.min(k + 1, position.rows - 1);
    a.fromArray(position.values, 3 * k);
    group.position.copy(a.lerp(b.fromArray(position.values, 3 * next), u));
    if (quaternion) {
      const v = quaternion.values;
      p.set(v[4 * k + 1], v[4 * k + 2], v[4 * k + 3], v[4 * k]).normalize();
      q.set(v[4 * next + 1], v[4 * next + 2], v[4 * next + 3], v[4 * next]).normalize();
      group.quaternion.copy(p.slerp(q, u));
    }
    if (scale) group.scale.setScalar((1 - u) * scale.values[k] + u * scale.values[next]);
  };
}

function points(numbers) {
  return new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(numbers), 3));
}

// A bar of radius 1 from z = 0 to 1.
function rod() {
  return new THREE.CylinderGeometry(1, 1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5);
}

// A coil of radius 1 from z = 0 to 1, with straight ends.
function coil() {
  const turns = 9, path = [];
  for (let i = 0; i <= 24 * turns; i++) {
    const s = i / (24 * turns), r = Math.min(1, 12 * s, 12 * (1 - s));
    const angle = 2 * Math.PI * turns * s;
    path.push(new THREE.Vector3(r * Math.cos(angle), r * Math.sin(angle), 20 * (0.08 + 0.84 * s)));
  }
  path.unshift(new THREE.Vector3(0, 0, 0));
  path.push(new THREE.Vector3(0, 0, 20));
  return new THREE.TubeGeometry(new THREE.CatmullRomCurve3(path), 30 * turns, 0.14, 6).scale(1, 1, 1 / 20);
}

// The head of an arrow, its tip at the origin, for a shaft of half the width 1.
function cone() {
  return new THREE.ConeGeometry(2.6, 6, 16).rotateX(Math.PI / 2).translate(0, 0, -3);
}

// Return the function that spans a link between its two ends.
function stretch(slot, link, place) {
  const a = new THREE.Vector3(), b = new THREE.Vector3(), z = new THREE.Vector3(0, 0, 1);
  const q = new THREE.Quaternion(), size = new THREE.Vector3(), matrix = new THREE.Matrix4();
  return () => {
    place(link.ends[0], a);
    place(link.ends[1], b).sub(a);
    const length = b.length();
    if (!length) { slot.set(null); return; }
    q.setFromUnitVectors(z, b.divideScalar(length));
    slot.set(matrix.compose(a, q, size.set(link.radius, link.radius, length)));
  };
}

// Return the function that sets an arrow, a shaft and heads, to a vector at a point: its tail is there.
function point(shaft, heads, end, vectors, scale, width, place) {
  const a = new THREE.Vector3(), b = new THREE.Vector3(), z = new THREE.Vector3(0, 0, 1);
  const q = new THREE.Quaternion(), size = new THREE.Vector3(), matrix = new THREE.Matrix4();
  return (k, u) => {
    const next = Math.min(k + 1, vectors.rows - 1);
    a.fromArray(vectors.values, 3 * k).lerp(b.fromArray(vectors.values, 3 * next), u).multiplyScalar(scale);
    const length = a.length();
    if (length <= width) {
      for (const part of [shaft, ...heads]) part.set(null);
      return;
    }
    q.setFromUnitVectors(z, a.divideScalar(length));
    place(end, b);
    const small = Math.min(1, length / (8 * width * heads.length)) * width; // short ones have small heads
    shaft.set(matrix.compose(b, q, size.set(0.7 * small, 0.7 * small, length - 4 * small)));
    heads.forEach((head, i) => {
      const tip = b.clone().addScaledVector(a, length - 6 * small * i);
      head.set(matrix.compose(tip, q, size.setScalar(small)));
    });
  };
}

// The path of a point: all of it faint, up to now strong.
function trailOf(trail, n, at, place, span) {
  const path = new Float32Array(3 * n), now = new THREE.Vector3();
  for (let k = 0; k < n; k++) {
    at(k);
    place(trail, now).toArray(path, 3 * k);
  }
  const past = points([...path, 0, 0, 0]);
  const object = new THREE.Group();
  object.userData.label = trail.label;
  const faint = points(path);
  object.add(new THREE.Line(faint, new THREE.LineBasicMaterial({ color: trail.color, transparent: true, opacity: 0.3 })));
  object.add(new THREE.Line(past, new THREE.LineBasicMaterial({ color: trail.color })));
  let written = 0; // the vertex that holds where the point is now, not where it will be then
  return {
    object,
    update: (k) => {
      const vertices = past.attributes.position;
      if (written < n) vertices.array.set(path.subarray(3 * written, 3 * written + 3), 3 * written);
      written = k + 1;
      place(trail, now).toArray(vertices.array, 3 * written);
      vertices.needsUpdate = true;
      faint.setDrawRange(span.from, span.to - span.from + 1);
      past.setDrawRange(span.from, k + 2 - span.from);
    },
  };
}

// A grid at the lowest place.
function gridOf(data) {
  const low = new THREE.Vector3().fromArray(data.low), high = new THREE.Vector3().fromArray(data.high);
  const up = new THREE.Vector3().fromArray(data.up);
  const size = high.distanceTo(low), spacing = data.spacing;
  const cells = 2 * Math.ceil((0.75 * size) / spacing);
  const object = new THREE.GridHelper(cells * spacing, cells, 0xc2c8d0, 0xe3e7ec);
  object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
  const middle = low.clone().add(high).multiplyScalar(0.5);
  const round = (x) => Math.round(x / spacing) * spacing;
  object.position.set(round(middle.x), round(middle.y), round(middle.z));
  const bottom = Math.min(low.dot(up), high.dot(up)) - 0.01 * size;
  object.position.addScaledVector(up, bottom - object.position.dot(up));
  return object;
}
