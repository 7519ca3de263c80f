"use strict";
// The eye: fits the model, orbits, goes along with a body.

function buildCamera(canvas, data, world) {
  const camera = new THREE.PerspectiveCamera(30, 1, 0.01, 100);
  camera.up.fromArray(data.up);
  const controls = new THREE.OrbitControls(camera, canvas);
  const low = new THREE.Vector3().fromArray(data.low), high = new THREE.Vector3().fromArray(data.high);
  const here = new THREE.Vector3(), before = new THREE.Vector3();
  const state = { follow: "", touched: false };
  const light = new THREE.DirectionalLight(0xffffff, 2.0);
  light.position.set(-0.6, 0.9, 0.7); // over the left shoulder
  light.target.position.set(0, 0, -1);
  camera.add(light, light.target);
  controls.addEventListener("start", () => { state.touched = true; });

  // Return how far from the middle the eye must be to see all corners.
  function distance(view) {
    const z = view.clone(), x = new THREE.Vector3().crossVectors(camera.up, z).normalize();
    const y = new THREE.Vector3().crossVectors(z, x);
    const tall = 0.88 * Math.tan((camera.fov * Math.PI) / 360), wide = tall * camera.aspect;
    let far = 0;
    for (let i = 0; i < 8; i++) {
      const c = new THREE.Vector3(i & 1 ? high.x : low.x, i & 2 ? high.y : low.y, i & 4 ? high.z : low.z);
      c.sub(low).addScaledVector(size(), -0.5);
      far = Math.max(far, c.dot(z) + Math.abs(c.dot(x)) / wide, c.dot(z) + Math.abs(c.dot(y)) / tall);
    }
    return far;
  }
  const size = () => high.clone().sub(low);

  // See everything from a direction (by default the one at hand).
  function fit(view) {
    const from = view ? view.clone().normalize() : camera.position.clone().sub(controls.target).normalize();
    const middle = low.clone().add(high).multiplyScalar(0.5);
    if (data.follow && state.follow) middle.add(where(here)).sub(starts.get(state.follow));
    controls.target.copy(middle);
    camera.position.copy(middle).addScaledVector(from, distance(from));
    controls.update();
  }

  function where(into) {
    return into.copy(world.frames.get(state.follow).position);
  }

  // Follow a body, or nothing with "".
  function follow(name) {
    state.follow = name;
    if (name) where(before);
  }

  // Go along with the body that is followed; call it after each update of the world.
  function keepUp() {
    if (!state.follow) return;
    where(here);
    const moved = here.clone().sub(before);
    before.copy(here);
    controls.target.add(moved);
    camera.position.add(moved);
    camera.lookAt(controls.target);
  }

  function resize(width, height) {
    camera.aspect = width / height;
    if (!state.touched) fit();
    camera.updateProjectionMatrix();
  }

  // Keep near and far planes around what is seen.
  function clip() {
    const away = camera.position.distanceTo(controls.target);
    camera.near = away / 100;
    camera.far = away + 20 * world.size;
    camera.updateProjectionMatrix();
  }

  // Turn about the target by angles [rad], or come nearer by a factor.
  function orbit(aside, upwards) {
    const arm = camera.position.clone().sub(controls.target);
    arm.applyAxisAngle(camera.up, aside);
    const across = new THREE.Vector3().crossVectors(arm, camera.up).normalize();
    const tilted = arm.clone().applyAxisAngle(across, upwards);
    if (Math.abs(tilted.clone().normalize().dot(camera.up)) < 0.995) arm.copy(tilted);
    move(arm);
  }
  function zoom(factor) {
    move(camera.position.clone().sub(controls.target).multiplyScalar(factor));
  }
  function move(arm) {
    state.touched = true;
    camera.position.copy(controls.target).add(arm);
    controls.update();
  }

  world.update(world.times[0]);
  const starts = new Map([...world.frames].map(([name, frame]) => [name, frame.position.clone()]));
  follow(data.follow); // then the box holds at the first instant, otherwise at all of them
  camera.position.fromArray(data.view);
  return { camera, controls, state, fit, follow, keepUp, resize, clip, orbit, zoom };
}
