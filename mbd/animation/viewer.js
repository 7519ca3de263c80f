"use strict";
// Starts the page: unpacks, builds the world, and keeps time.

function complain(text) {
  const message = document.getElementById("message");
  message.textContent = text;
  message.hidden = false;
}

// Say what was asked for in vain, or with an empty text no more.
function say(text) {
  const note = document.getElementById("note");
  note.textContent = text || "";
  note.hidden = !text;
}

// Return the entries behind the # of the address: t=1.25, show=bodies,labels, follow=rod, view=top,
// color=M2, theme=dark, mode=2 (the third of those of the page).
function address() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

async function start() {
  if (typeof DecompressionStream === "undefined") {
    complain("This page needs a browser of 2023 or later (it unpacks its data by DecompressionStream).");
    return;
  }
  const canvas = document.getElementById("view");
  const unpacked = [inflate("three"), inflate("numbers")]; // beside the start of the graphics
  const context = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!context) {
    complain("This page draws with WebGL, which the browser does not offer here. "
      + "Try another browser, or switch on hardware acceleration.");
    return;
  }
  canvas.addEventListener("webglcontextlost", () => complain("The graphics were reset; load the page again."));
  const library = document.createElement("script");
  library.textContent = new TextDecoder().decode(await unpacked[0]);
  document.head.append(library);
  const renderer = new THREE.WebGLRenderer({ canvas, context, antialias: true });
  const data = JSON.parse(document.getElementById("data").textContent);
  run(data, await unpacked[1], renderer, canvas);
}

function run(data, bytes, renderer, canvas) {
  renderer.setPixelRatio(window.devicePixelRatio);
  const world = buildWorld(data, bytes);
  const scene = new THREE.Scene();
  scene.add(world.root, new THREE.HemisphereLight(0xffffff, 0x9aa2b0, 1.4));
  const eye = buildCamera(canvas, data, world);
  scene.add(eye.camera);

  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const spans = spansOf(data, world.times);
  const state = { span: spans[0], t: spans[0].first, playing: false, speed: data.speed, loop: !still, shown: new Set(data.show), colorBy: data.colorBy,
    beside: data.plots.length > 0 };
  let dirty = true; // a frame is drawn only when something changed

  const app = {
    state,
    play(on) {
      const { first, last, said } = state.span;
      if (on && state.t >= last) app.seek(first);
      if (state.playing && !on) remember(said(state.t), data.modes.length > 1 && String(state.span.i));
      state.playing = on && last > first;
      panel.refresh();
      dirty = true;
    },
    seek(t) {
      state.t = Math.min(Math.max(t, state.span.first), state.span.last);
      world.update(state.t);
      eye.keepUp();
      panel.refresh();
      dirty = true;
    },
    step(n) {
      app.play(false);
      const [k, u] = bracket(world.times, state.t);
      const next = n > 0 ? k + n : u > 0 ? k : k + n;
      app.seek(world.times[Math.min(Math.max(next, 0), world.times.length - 1)]);
    },
    toEnd(which) { app.play(false); app.seek(which ? state.span.last : state.span.first); },
    mode(i) {
      state.span = spans[i];
      Object.assign(data.largest, data.modes[i]?.largest);
      world.only(state.span);
      panel.mode();
      app.seek(state.span.first);
      plots.paint();
    },
    show(name, on) {
      if (on) state.shown.add(name); else state.shown.delete(name);
      for (const object of world.layers.get(name) ?? []) object.visible = on;
      panel.legend();
      panel.refresh();
      dirty = true;
    },
    dark(on) {
      state.dark = on;
      document.documentElement.dataset.theme = on ? "dark" : "light";
      renderer.setClearColor(on ? 0x15181c : 0xffffff);
      world.grid.material.color.set(on ? 0x2f363f : 0xffffff);
      plots.paint();
      panel.refresh();
      dirty = true;
    },
    beside(on) {
      state.beside = on && data.plots.length > 0;
      document.getElementById("plots").hidden = !state.beside;
      panel.refresh();
      dirty = true;
    },
    colorBy(name) {
      state.colorBy = name;
      world.colorBy(name);
      world.update(state.t);
      panel.legend();
      panel.refresh();
      dirty = true;
    },
    fit() { eye.state.touched = false; eye.fit(); dirty = true; },
    follow(name) { eye.follow(name); dirty = true; },
    look(from) { eye.state.touched = false; eye.fit(direction(from, data)); dirty = true; },
    orbit(aside, upwards) { eye.orbit(aside, upwards); dirty = true; },
    zoom(factor) { eye.zoom(factor); dirty = true; },
  };
  const panel = buildPanel(data, world, app);
  const plots = buildPlots(data, bytes, world, app);
  const names = buildLabels(canvas, eye.camera, world, state);
  for (const name of world.layers.keys()) app.show(name, state.shown.has(name));
  eye.controls.addEventListener("change", () => { dirty = true; });

  const seen = { width: 0, height: 0 };
  function resize() {
    const { clientWidth: width, clientHeight: height } = canvas.parentElement;
    if (!width || !height || (width === seen.width && height === seen.height)) return;
    Object.assign(seen, { width, height });
    renderer.setSize(width, height, false);
    eye.resize(width, height);
    draw(); // at once: the new size has emptied the canvas
  }

  // Show the layers of a list only. If it has a word that is none, say so and change nothing.
  function show(wanted) {
    const unknown = wanted.filter((name) => !LAYERS.includes(name));
    say(unknown.length && `There is no ${unknown.join(", ")} to show; there are ${LAYERS.join(", ")}.`);
    if (unknown.length) return;
    for (const name of [...world.layers.keys(), "labels"]) app.show(name, wanted.includes(name));
  }

  function obey() {
    const said = address();
    if (said.show !== undefined) show(said.show.split(",").filter((name) => name));
    if (said.follow !== undefined && world.frames.has(said.follow)) {
      app.follow(said.follow);
      document.getElementById("follow").value = said.follow;
    }
    if (said.theme === "dark" || said.theme === "light") app.dark(said.theme === "dark");
    if (said.color === "" || said.color in data.largest) app.colorBy(said.color);
    if (said.view in VIEWS) app.look(said.view);
    if (Number.isInteger(Number(said.mode)) && data.modes[said.mode]) app.mode(Number(said.mode));
    if (said.t !== undefined && Number.isFinite(Number(said.t))) {
      app.play(false);
      app.seek(state.span.time(Number(said.t)));
      return true;
    }
    return false;
  }
  function draw() {
    dirty = false;
    eye.clip();
    renderer.render(scene, eye.camera);
    names();
    plots.refresh();
    tell(canvas, eye.camera, state, data.origin);
    canvas.dataset.calls = renderer.info.render.calls;
  }

  const evening = window.matchMedia("(prefers-color-scheme: dark)");
  evening.addEventListener("change", () => app.dark(evening.matches));
  app.dark(evening.matches);
  app.mode(0);
  resize();
  new ResizeObserver(resize).observe(canvas.parentElement);
  window.addEventListener("hashchange", obey);
  app.play(!obey() && !still);

  let before = null;
  function frame(now) {
    if (state.playing) {
      const { first, last } = state.span;
      const ahead = before === null ? 0 : (state.speed * Math.min(now - before, 100)) / 1000;
      const t = state.t + ahead;
      if (t > last && !state.loop) {
        app.seek(last);
        app.play(false);
      } else {
        app.seek(t > last ? first : t);
      }
    }
    before = now;
    if (dirty) draw();
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
}

// Return what plays in one go, all or one mode each: its instants, and its time as it is said.
function spansOf(data, times) {
  const whole = { first: 0, last: times.length - 1 };
  return (data.modes.length ? data.modes : [whole]).map(({ first: from, last: to, seconds }, i) => {
    const first = times[from], last = times[to], zero = seconds ? first : 0, unit = seconds ?? 1;
    return { i, from, to, first, last, said: (t) => (t - zero) * unit, time: (s) => zero + s / unit };
  });
}

// Return the direction to the eye of a view by name.
function direction(name, data) {
  const up = new THREE.Vector3().fromArray(data.up);
  const ahead = up.z ? new THREE.Vector3(0, -1, 0) : up.y ? new THREE.Vector3(0, 0, 1) : new THREE.Vector3(0, 0, -1);
  const right = new THREE.Vector3().crossVectors(up, ahead);
  const views = {
    start: () => new THREE.Vector3().fromArray(data.view),
    front: () => ahead,
    side: () => right,
    top: () => up.clone().addScaledVector(ahead, 1e-3),
    oblique: () => ahead.clone().addScaledVector(right, 0.6).addScaledVector(up, 0.5),
  };
  return (views[name] ?? views.start)();
}

// Put the instant of a still frame into the address, so that it can be shared.
function remember(t, mode) {
  try {
    const said = new URLSearchParams(location.hash.slice(1));
    said.set("t", String(Number(t.toPrecision(6))));
    if (mode) said.set("mode", mode);
    history.replaceState(null, "", `#${said}`);
  } catch {
    // a page inside another one (a notebook) has no address of its own
  }
}

// Say what is drawn where tests and other programs can read it: the instant, and the matrix from
// points to the picture (column by column).
function tell(canvas, camera, state, [x, y, z]) {
  if (state.playing) return;
  const matrix = new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
  matrix.multiply(new THREE.Matrix4().makeTranslation(-x, -y, -z));
  canvas.dataset.t = state.t;
  canvas.dataset.projection = matrix.elements.join(" ");
}

window.addEventListener("error", (e) => complain(`The page stopped: ${e.message}`));
start().catch((error) => complain(`The page stopped: ${error.message}`));
