"use strict";
// Everything that is seen: solids and wires fixed to frames, links between them, arrows, trails.
// Frames are three.js groups; "ground" is the root. Nothing here knows the clock or the camera.

// Geometry of each form of a solid, about the axes of the shape. Bars are along z.
const FORMS = {
  box: (s) => new THREE.BoxGeometry(...s.size),
  sphere: (s) => new THREE.SphereGeometry(s.radius, 32, 20),
  cylinder: (s) => new THREE.CylinderGeometry(s.radius, s.radius, s.length, 32).rotateX(Math.PI / 2),
  capsule: (s) => new THREE.CapsuleGeometry(s.radius, s.length, 8, 24).rotateX(Math.PI / 2),
  mesh: (s, read) => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(read(s.vertices).values), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(read(s.triangles).values), 1));
    return THREE.toCreasedNormals(geometry, 0.6);
  },
};
const EDGED = new Set(["box", "cylinder", "mesh"]);

// Return w, x, y, z as three.js has it.
function turn(q) {
  return new THREE.Quaternion(q[1], q[2], q[3], q[0]);
}

function buildWorld(data, bytes) {
  const read = (where) => table(bytes, where);
  const times = read(data.t).values.map((t) => t + data.start);
  const root = new THREE.Group();
  const frames = new Map([["ground", root]]);
  const moving = [];
  const updates = []; // functions of (frame index k, share u of the way to k + 1)
  const layers = new Map(data.show.map((name) => [name, []]));
  const layer = (name) => layers.get(name) ?? layers.set(name, []).get(name);

  for (const f of data.frames) {
    const group = new THREE.Group();
    frames.set(f.name, group);
    root.add(group);
    moving.push(pose(group, read(f.position), f.quaternion && read(f.quaternion), f.scale && read(f.scale)));
  }

  const geometries = new Map(); // equal shapes share one
  const materials = new Map();
  const material = (color) => {
    if (!materials.has(color)) {
      materials.set(color, new THREE.MeshStandardMaterial({ color, roughness: 0.65, metalness: 0.05, side: THREE.DoubleSide }));
    }
    return materials.get(color);
  };
  const line = (color) => new THREE.LineBasicMaterial({ color });

  for (const s of data.solids) {
    const key = JSON.stringify([s.form, s.size, s.radius, s.length, s.vertices?.at]);
    if (!geometries.has(key)) geometries.set(key, FORMS[s.form](s, read));
    const mesh = new THREE.Mesh(geometries.get(key), material(s.color));
    if (s.at) mesh.position.fromArray(s.at);
    if (s.quaternion) mesh.quaternion.copy(turn(s.quaternion));
    mesh.userData.label = s.label;
    if (EDGED.has(s.form)) {
      const edges = new THREE.EdgesGeometry(mesh.geometry, 30);
      mesh.add(new THREE.LineSegments(edges, line(new THREE.Color(s.color).multiplyScalar(0.45))));
    }
    frames.get(s.frame).add(mesh);
    layer(s.layer).push(mesh);
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
    const mesh = new THREE.Mesh(l.form === "coil" ? coil() : rod(), material(l.color));
    mesh.userData.label = l.label;
    const holder = new THREE.Group(); // it is hidden by its layer, the mesh in it by having no length
    root.add(holder.add(mesh));
    layer(l.layer).push(holder);
    updates.push(stretch(mesh, l, place));
  }

  const size = new THREE.Vector3().fromArray(data.high).distanceTo(new THREE.Vector3().fromArray(data.low));
  for (const a of data.arrows) {
    const arrow = arrowOf(a.color, 0.006 * size, a.unit === "N m" ? 2 : 1);
    arrow.traverse((part) => { part.userData.label = a.label; });
    root.add(arrow);
    layer(a.layer).push(arrow);
    const [value, length] = data.scales[a.unit];
    updates.push(point(arrow, a, read(a.vectors), length / value, 0.006 * size, place));
  }

  for (const t of data.trails) {
    const trail = trailOf(t, times.length, (k) => { setPoses(moving, k, 0); root.updateMatrixWorld(true); }, place);
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
  }
  return { root, times, frames, layers, labels, size, update };
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

// Return the function that spans a link between its two ends.
function stretch(mesh, link, place) {
  const a = new THREE.Vector3(), b = new THREE.Vector3(), z = new THREE.Vector3(0, 0, 1);
  return () => {
    place(link.ends[0], a);
    place(link.ends[1], b).sub(a);
    const length = b.length();
    mesh.visible = length > 0;
    if (!length) return;
    mesh.position.copy(a);
    mesh.quaternion.setFromUnitVectors(z, b.divideScalar(length));
    mesh.scale.set(link.radius, link.radius, length);
  };
}

// An arrow along z: a shaft and one head, or two for a moment. It is drawn over everything else, for
// forces often run inside the bars that carry them.
function arrowOf(color, width, heads) {
  const arrow = new THREE.Group();
  const material = new THREE.MeshStandardMaterial({ color, roughness: 0.65, depthTest: false, transparent: true });
  arrow.add(new THREE.Mesh(rod(), material));
  for (let i = 0; i < heads; i++) {
    const cone = new THREE.ConeGeometry(2.6 * width, 6 * width, 16).rotateX(Math.PI / 2).translate(0, 0, -3 * width);
    arrow.add(new THREE.Mesh(cone, material));
  }
  return arrow;
}

// Return the function that sets an arrow to a vector at a point: its tail is there.
function point(arrow, end, vectors, scale, width, place) {
  const a = new THREE.Vector3(), b = new THREE.Vector3(), z = new THREE.Vector3(0, 0, 1);
  const [shaft, ...heads] = arrow.children;
  return (k, u) => {
    const next = Math.min(k + 1, vectors.rows - 1);
    a.fromArray(vectors.values, 3 * k).lerp(b.fromArray(vectors.values, 3 * next), u).multiplyScalar(scale);
    const length = a.length();
    for (const part of arrow.children) part.visible = length > width;
    if (length <= width) return;
    arrow.quaternion.setFromUnitVectors(z, a.divideScalar(length));
    place(end, arrow.position);
    const small = Math.min(1, length / (8 * width * heads.length)); // short ones have small heads
    shaft.scale.set(0.7 * width * small, 0.7 * width * small, length - 4 * width * small);
    heads.forEach((head, i) => {
      head.scale.setScalar(small);
      head.position.z = length - 6 * width * small * i;
    });
  };
}

// The path of a point: all of it faint, up to now strong.
function trailOf(trail, n, at, place) {
  const path = new Float32Array(3 * n), now = new THREE.Vector3();
  for (let k = 0; k < n; k++) {
    at(k);
    place(trail, now).toArray(path, 3 * k);
  }
  const past = points([...path, 0, 0, 0]);
  const object = new THREE.Group();
  object.userData.label = trail.label;
  object.add(new THREE.Line(points(path), new THREE.LineBasicMaterial({ color: trail.color, transparent: true, opacity: 0.3 })));
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
      past.setDrawRange(0, k + 2);
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
