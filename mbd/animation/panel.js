"use strict";
// The controls below the picture, the legend in it, labels over it. They call `app` and show what
// `app.state` says.

const VIEWS = { "start": null, "front": "front", "side": "side", "top": "top", "oblique": "oblique" };
const LAYERS = ["bodies", "joints", "springs", "trails", "loads", "reactions", "labels", "grid"];
const GAP = 6; // pixels between a point and its name
const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

function buildPanel(data, world, app) {
  const get = (id) => document.getElementById(id);
  const play = get("play"), time = get("time"), clock = get("clock");
  const several = data.modes.length > 1;
  let digits = 2;
  get("played").hidden = !several;
  options(get("mode"), data.modes.map((x, i) => [String(i), x.text]));
  get("mode").addEventListener("change", (e) => app.mode(Number(e.target.value)));
  play.addEventListener("click", () => app.play(!app.state.playing));
  time.addEventListener("input", () => { app.play(false); app.seek(Number(time.value)); });
  get("loop").checked = app.state.loop;
  get("loop").addEventListener("change", (e) => { app.state.loop = e.target.checked; });
  get("fit").addEventListener("click", () => app.fit());
  get("beside").hidden = !data.plots.length;
  get("beside").addEventListener("click", () => app.beside(!app.state.beside));
  get("theme").addEventListener("click", () => app.dark(!app.state.dark));

  options(get("speed"), SPEEDS.map((x) => [String(x * data.speed), `${Number((x * data.speed).toPrecision(3))} ${several ? "periods/s" : "×"}`]));
  get("speed").value = String(data.speed);
  get("speed").addEventListener("change", (e) => { app.state.speed = Number(e.target.value); });
  options(get("from"), Object.keys(VIEWS).map((x) => [x, x]));
  get("from").addEventListener("change", (e) => app.look(e.target.value));
  options(get("follow"), [["", "nothing"], ...data.frames.map((f) => [f.name, f.name])]);
  get("follow").value = data.follow;
  get("follow").addEventListener("change", (e) => app.follow(e.target.value));

  const present = [...world.layers].filter(([, objects]) => objects.length).map(([name]) => name);
  const boxes = new Map();
  for (const name of LAYERS) {
    if (name !== "labels" && !present.includes(name)) continue;
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = app.state.shown.has(name);
    box.addEventListener("change", () => app.show(name, box.checked));
    const label = document.createElement("label");
    label.append(box, ` ${name}`);
    get("layers").append(label);
    boxes.set(name, box);
  }
  const forces = Object.keys(data.largest);
  get("coloured").hidden = !forces.length;
  options(get("color"), [["", "nothing"], ...forces.map((x) => [x, `${x}, ${data.measures[x][1]}`])]);
  get("color").value = data.colorBy;
  get("color").addEventListener("change", (e) => app.colorBy(e.target.value));
  get("panel").hidden = false;

  // Show what the state says.
  function refresh() {
    play.textContent = app.state.playing ? "Pause" : "Play";
    play.setAttribute("aria-pressed", String(app.state.playing));
    time.value = app.state.t;
    clock.textContent = `t = ${app.state.span.said(app.state.t).toFixed(digits)} s`;
    time.setAttribute("aria-valuetext", clock.textContent);
    for (const [name, box] of boxes) box.checked = app.state.shown.has(name);
    get("beside").setAttribute("aria-pressed", String(app.state.beside));
    get("theme").setAttribute("aria-pressed", String(app.state.dark));
    get("color").value = app.state.colorBy;
  }

  // Show which mode plays, and how long it lasts.
  function mode() {
    const { i, first, last, said } = app.state.span;
    digits = Math.max(2, Math.ceil(2 - Math.log10(Math.max(said(last) - said(first), 1e-12))));
    [time.min, time.max] = [first, last];
    get("mode").value = i;
    legend(get("legend"), data, app.state);
  }

  keys(app, data, get("view"));
  return { refresh, mode, legend: () => legend(get("legend"), data, app.state) };
}

function options(select, pairs) {
  for (const [value, text] of pairs) select.append(new Option(text, value));
}

// The scale of what is drawn: the grid, and the arrows by colour.
function legend(list, data, { shown, colorBy, span }) {
  list.replaceChildren();
  const item = (text, color) => {
    const entry = document.createElement("li");
    if (color) {
      const swatch = document.createElement("i");
      swatch.style.color = color;
      entry.append(swatch);
    }
    entry.append(text);
    list.append(entry);
  };
  if (data.modes.length) item(data.modes[span.i].text);
  if (colorBy && shown.has("bodies")) {
    const [unit, word] = data.measures[colorBy], far = data.largest[colorBy];
    item(`${colorBy}, ${word} [${unit}]`);
    const bar = document.createElement("span");
    bar.style.background = `linear-gradient(to right, ${data.colors.join(", ")})`;
    const scale = document.createElement("span");
    scale.append(...[-far, 0, far].map((x) => Object.assign(document.createElement("b"), { textContent: number(x) })));
    const entry = document.createElement("li");
    entry.className = "bar";
    entry.append(bar, scale);
    list.append(entry);
  }
  if (shown.has("grid")) item(`grid ${metres(data.spacing)}`);
  const words = {
    "N loads": "force", "N m loads": "moment",
    "N reactions": "reaction force", "N m reactions": "reaction moment",
  };
  for (const [key, word] of Object.entries(words)) {
    const arrow = data.arrows.find((a) => `${a.unit} ${a.layer}` === key);
    if (!arrow || !shown.has(arrow.layer)) continue;
    const [value, length] = data.scales[arrow.unit];
    item(`${word}: ${number(value)} ${arrow.unit} drawn as ${metres(length)}`, arrow.color);
  }
}

function metres(x) {
  if (x >= 1000) return `${number(x / 1000)} km`;
  if (x >= 1) return `${number(x)} m`;
  return x >= 1e-3 ? `${number(1000 * x)} mm` : `${number(1e6 * x)} µm`;
}

function number(x) {
  if (Math.abs(x) >= 1e6) return x.toExponential(2).replace("e+", "e");
  return String(Number(x.toPrecision(3)));
}

function keys(app, data, canvas) {
  const everywhere = {
    " ": () => app.play(!app.state.playing),
    ",": () => app.step(-1),
    ".": () => app.step(1),
    Home: () => app.toEnd(0),
    End: () => app.toEnd(1),
    f: () => app.fit(),
    d: () => app.dark(!app.state.dark),
    p: () => app.beside(!app.state.beside),
    m: () => data.modes.length > 1 && app.mode((app.state.span.i + 1) % data.modes.length),
    l: () => app.show("labels", !app.state.shown.has("labels")),
  };
  const inPicture = {
    ArrowLeft: () => app.orbit(-0.1, 0),
    ArrowRight: () => app.orbit(0.1, 0),
    ArrowUp: () => app.orbit(0, -0.1),
    ArrowDown: () => app.orbit(0, 0.1),
    "+": () => app.zoom(0.9),
    "-": () => app.zoom(1 / 0.9),
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const own = e.target.closest("button, select, summary, input[type=checkbox]");
    if (own && (e.key === " " || own.tagName === "SELECT")) return; // the control has this key
    if (e.target.type === "range" && (e.key === "Home" || e.key === "End")) return;
    const act = (e.target === canvas && inPicture[e.key]) || everywhere[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!act) return;
    e.preventDefault();
    act();
  });
}

// Names over the picture, and of what the pointer is on.
function buildLabels(canvas, camera, world, state) {
  const holder = document.getElementById("labels"), tip = document.getElementById("tip");
  const middle = new THREE.Vector3();
  const spans = world.labels.map((label) => {
    const span = document.createElement("span");
    span.textContent = label.text;
    holder.append(span);
    return { ...label, span };
  });

  // The nearest name has the choice of where to stand; one that finds no room is left out.
  function refresh() {
    holder.hidden = !state.shown.has("labels");
    if (holder.hidden) return;
    const taken = [];
    for (const label of spans) {
      label.width ??= label.span.offsetWidth; // known once they are seen, and then for good
      label.height ??= label.span.offsetHeight;
      const { x, y, z } = label.at(middle).project(camera);
      Object.assign(label, { z, x: (0.5 + 0.5 * x) * canvas.clientWidth, y: (0.5 - 0.5 * y) * canvas.clientHeight });
    }
    for (const label of [...spans].sort((a, b) => a.z - b.z)) {
      const place = state.shown.has(label.layer) && Math.abs(label.z) <= 1 ? room(label, taken) : null;
      label.span.hidden = !place;
      if (!place) continue;
      taken.push(place);
      label.span.style.transform = `translate(${place.left.toFixed(1)}px, ${place.top.toFixed(1)}px)`;
    }
  }

  // Return the first place beside a point that is free: right or left, above or below.
  function room({ x, y, width, height }, taken) {
    for (const [side, above] of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
      const left = side > 0 ? x + GAP : x - GAP - width, top = above > 0 ? y - GAP - height : y + GAP;
      const place = { left, top, right: left + width, bottom: top + height };
      const covers = (p) => p.left < place.right && p.right > place.left && p.top < place.bottom && p.bottom > place.top;
      if (!taken.some(covers)) return place;
    }
    return null;
  }

  const ray = new THREE.Raycaster(), pointer = new THREE.Vector2();
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("pointermove", (e) => {
    tip.hidden = true;
    if (e.buttons) return;
    const box = canvas.getBoundingClientRect();
    pointer.set((2 * (e.clientX - box.left)) / box.width - 1, 1 - (2 * (e.clientY - box.top)) / box.height);
    ray.setFromCamera(pointer, camera);
    ray.params.Line.threshold = 0.005 * world.size;
    const name = ({ object, instanceId }) => object.userData.label ?? object.userData.labels?.[instanceId];
    const hit = ray.intersectObject(world.root, true).find((x) => name(x) && shown(x.object));
    if (!hit) return;
    tip.textContent = name(hit);
    tip.style.transform = `translate(${e.clientX - box.left + 12}px, ${e.clientY - box.top + 12}px)`;
    tip.hidden = false;
  });
  const shown = (object) => !object || (object.visible && shown(object.parent));
  return refresh;
}
