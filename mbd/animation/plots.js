"use strict";
// Plots beside the view: quantities over time, with a cursor at the instant that is shown.

// Lines differ by colour and by dashes; each colour is seen on its page.
const INKS = {
  light: ["#1a5fb4", "#b34700", "#1b7a48", "#813d9c", "#7a5230", "#a51d2d"],
  dark: ["#78aeed", "#ffab5c", "#62d695", "#d9a0ec", "#d3b294", "#ff8f85"],
};
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 2], [1, 2]];
// pixels around the frame of a plot; the left side has room for the widest number of all plots
const EDGE = { left: 44, right: 8, top: 8, bottom: 20 };
const FONT = "11px system-ui, sans-serif";

function buildPlots(data, bytes, world, app) {
  const aside = document.getElementById("plots");
  aside.hidden = !data.plots.length;
  const plots = data.plots.map((plot) => buildPlot(plot, bytes, world, app, aside));
  const paint = () => {
    EDGE.left = Math.max(44, ...plots.map((plot) => plot.margin()));
    plots.forEach((plot) => plot.paint());
  };
  const refresh = () => app.state.beside && plots.forEach((plot) => plot.refresh());
  if (plots.length) new ResizeObserver(() => { paint(); refresh(); }).observe(aside);
  return { paint, refresh };
}

function buildPlot({ title, unit, lines }, bytes, world, app, aside) {
  const times = world.times;
  const curves = lines.map((line) => table(bytes, line).values.map((x) => x + line.middle));
  const all = curves.map((curve) => [curve.reduce((a, b) => Math.min(a, b)), curve.reduce((a, b) => Math.max(a, b))]);
  let low = Math.min(...all.map((x) => x[0])), high = Math.max(...all.map((x) => x[1]));
  const room = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1;
  [low, high] = [low - room, high + room];

  const figure = document.createElement("figure"), caption = document.createElement("figcaption");
  const list = document.createElement("ul"), holder = document.createElement("div");
  const canvas = document.createElement("canvas"), still = document.createElement("canvas");
  const entries = lines.map(({ label }, i) => {
    const entry = document.createElement("li"), value = document.createElement("b");
    const name = lines.length > 1 || label !== title ? `${label} ` : "";
    entry.innerHTML = `<svg viewBox="0 0 22 8" aria-hidden="true"><path d="M0 4h22" fill="none" stroke-width="2"
      stroke-dasharray="${DASHES[i % DASHES.length].join(" ")}"/></svg>`;
    entry.append(name, value);
    list.append(entry);
    return { value, path: entry.querySelector("path") };
  });
  caption.append(`${title} [${unit}]`, list);
  holder.className = "curve";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${title} over time, from ${number(low + room)} to ${number(high - room)} ${unit}`);
  holder.append(canvas);
  figure.append(caption, holder);
  aside.append(figure);

  const wide = () => canvas.clientWidth - EDGE.left - EDGE.right;
  const tall = () => canvas.clientHeight - EDGE.top - EDGE.bottom;
  const across = (t, { first, last } = app.state.span) => EDGE.left + (wide() * (t - first)) / (last - first || 1);
  const up = (y) => EDGE.top + tall() * (1 - (y - low) / (high - low));
  const ink = (i) => INKS[app.state.dark ? "dark" : "light"][i % INKS.light.length];

  const heights = () => named(ticks(low, high, tall() / 36));

  // Return the pixels that the numbers left of the frame take.
  function margin() {
    const pen = still.getContext("2d");
    pen.font = FONT;
    return 12 + Math.max(...heights().map(([, text]) => pen.measureText(text).width));
  }

  // Draw all that does not move.
  function paint() {
    entries.forEach(({ path }, i) => path.setAttribute("stroke", ink(i)));
    const scale = window.devicePixelRatio;
    for (const x of [canvas, still]) {
      x.width = Math.round(canvas.clientWidth * scale);
      x.height = Math.round(canvas.clientHeight * scale);
    }
    if (wide() <= 0 || tall() <= 0) return;
    const pen = still.getContext("2d"), style = getComputedStyle(document.documentElement);
    pen.scale(scale, scale);
    pen.font = FONT;
    pen.fillStyle = style.color;
    pen.strokeStyle = app.state.dark ? "#3a414a" : "#d5dae0";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const [y, text] of heights()) {
      stroke(pen, [[EDGE.left, up(y)], [EDGE.left + wide(), up(y)]]);
      pen.fillText(text, EDGE.left - 6, up(y));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    const { first, last, from, to, said, time } = app.state.span;
    for (const [s, text] of named(ticks(said(first), said(last), wide() / 70))) {
      const t = time(s);
      stroke(pen, [[across(t), EDGE.top], [across(t), EDGE.top + tall()]]);
      const half = pen.measureText(`${text} s`).width / 2; // the last one ends with the picture
      pen.fillText(`${text} s`, Math.min(across(t), canvas.clientWidth - half), EDGE.top + tall() + 5);
    }
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    curves.forEach((curve, i) => {
      pen.strokeStyle = ink(i);
      pen.setLineDash(DASHES[i % DASHES.length]);
      stroke(pen, Array.from(curve.slice(from, to + 1), (y, k) => [across(times[from + k]), up(y)]));
    });
  }

  // Draw the cursor at the instant that is shown, and say the values there.
  function refresh() {
    if (!still.width || !still.height) return;
    const pen = canvas.getContext("2d"), scale = window.devicePixelRatio, t = app.state.t;
    const [k, u] = bracket(times, t);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(still, 0, 0);
    pen.scale(scale, scale);
    pen.strokeStyle = app.state.dark ? "#b4bbc4" : "#454c55";
    stroke(pen, [[across(t), EDGE.top], [across(t), EDGE.top + tall()]]);
    curves.forEach((curve, i) => {
      const y = curve[k] + u * (curve[Math.min(k + 1, curve.length - 1)] - curve[k]);
      entries[i].value.textContent = y.toPrecision(4);
      pen.fillStyle = ink(i);
      pen.beginPath();
      pen.arc(across(t), up(y), 3, 0, 2 * Math.PI);
      pen.fill();
    });
  }

  const seek = (e) => {
    if (!(e.buttons & 1)) return;
    app.play(false);
    const { first, last } = app.state.span;
    app.seek(first + ((e.offsetX - EDGE.left) / wide()) * (last - first));
  };
  canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); seek(e); });
  canvas.addEventListener("pointermove", seek);
  return { margin, paint, refresh };
}

function stroke(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

// Return round numbers in an interval, about as many as asked for.
function ticks(low, high, many) {
  const raw = (high - low) / Math.max(2, many) || 1, ten = 10 ** Math.floor(Math.log10(raw));
  const step = ten * [1, 2, 2.5, 5, 10].find((x) => x * ten >= raw * 0.999);
  const marks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) marks.push(i * step);
  return marks;
}

// Return marks with their texts: as many digits as tell them apart, powers of ten for long numbers.
function named(marks) {
  const most = Math.max(...marks.map(Math.abs)), step = marks[1] - marks[0];
  const digits = Math.min(15, Math.max(1, Math.floor(Math.log10(most / step) + 1e-9) + 3)) || 3;
  const long = most >= 1e5 || most < 1e-3;
  return marks.map((x) => {
    const y = Number(x.toPrecision(digits));
    return [x, long && y ? y.toExponential() : String(y)];
  });
}
