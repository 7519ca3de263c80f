"use strict";
// Copies of one geometry are drawn by one call, whatever their number, colours and proportions.

// Geometry of each form of a solid with its key and what it is scaled by. Bars are along z.
const FORMS = {
  box: (s) => ["box", () => new THREE.BoxGeometry(1, 1, 1), s.size],
  sphere: (s) => ["sphere", () => new THREE.SphereGeometry(1, 32, 20), [s.radius, s.radius, s.radius]],
  cylinder: (s) => ["cylinder", () => new THREE.CylinderGeometry(1, 1, 1, 32).rotateX(Math.PI / 2),
    [s.radius, s.radius, s.length]],
  capsule: (s) => {
    const slim = Number((s.length / s.radius).toPrecision(6));
    return [`capsule ${slim}`, () => new THREE.CapsuleGeometry(1, slim, 8, 24).rotateX(Math.PI / 2),
      [s.radius, s.radius, s.radius]];
  },
  mesh: (s, read) => [`mesh ${s.vertices.at}`, () => {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(read(s.vertices).values), 3));
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(read(s.triangles).values), 1));
    return THREE.toCreasedNormals(geometry, 0.6);
  }, [1, 1, 1]],
};
const EDGED = new Set(["box", "cylinder", "mesh"]);

// How surfaces look: opaque, drawn over everything else (forces often run inside the bars that carry
// them), or faint.
const LOOKS = {
  solid: {},
  over: { depthTest: false, transparent: true },
  ghost: { transparent: true, opacity: 0.22, depthWrite: false, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 },
};

function surfaceOf(look, more = {}) {
  return new THREE.MeshStandardMaterial({ roughness: 0.65, metalness: 0.05, side: THREE.DoubleSide, ...LOOKS[look], ...more });
}

function buildBatches(root, layer) {
  const batches = new Map();

  // Return the place of one more copy; it appears where `set` puts it, a matrix, or null for nowhere.
  function add(key, make, { color, label = "", on, look = "solid", lines = false }) {
    const name = `${key}, ${on}, ${look}, ${lines}`;
    if (!batches.has(name)) batches.set(name, { make, on, look, lines, colors: [], labels: [], mesh: null });
    const batch = batches.get(name), i = batch.colors.length;
    batch.colors.push(new THREE.Color(color));
    batch.labels.push(label);
    return {
      set(matrix) {
        if (matrix) matrix.toArray(batch.mesh.instanceMatrix.array, 16 * i);
        else batch.mesh.instanceMatrix.array.fill(0, 16 * i, 16 * i + 16);
        batch.moved = true;
      },
    };
  }

  // Make the objects, when all copies are known.
  function finish() {
    for (const batch of batches.values()) {
      const n = batch.colors.length, geometry = batch.make();
      let mesh;
      if (batch.lines) { // three.js has no class for it, but draws it
        mesh = new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 30), new THREE.LineBasicMaterial());
        Object.assign(mesh, { isInstancedMesh: true, count: n, morphTexture: null, raycast() {} });
        mesh.instanceMatrix = new THREE.InstancedBufferAttribute(new Float32Array(16 * n), 16);
      } else {
        mesh = new THREE.InstancedMesh(geometry, surfaceOf(batch.look), n);
        mesh.instanceMatrix.array.fill(0);
      }
      mesh.instanceColor = new THREE.InstancedBufferAttribute(new Float32Array(3 * n), 3);
      batch.colors.forEach((color, i) => color.toArray(mesh.instanceColor.array, 3 * i));
      mesh.frustumCulled = false;
      mesh.userData.labels = batch.labels;
      batch.mesh = mesh;
      root.add(mesh);
      layer(batch.on).push(mesh);
    }
  }

  // Tell the graphics what has moved.
  function sent() {
    for (const batch of batches.values()) {
      if (!batch.moved) continue;
      batch.mesh.instanceMatrix.needsUpdate = true;
      if (!batch.lines) batch.mesh.boundingSphere = null; // for what the pointer is on
      batch.moved = false;
    }
  }
  return { add, finish, sent };
}
