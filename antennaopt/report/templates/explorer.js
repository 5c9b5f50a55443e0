"use strict";
// The plot of all antennas: axes to choose, values under the pointer, a click shows one antenna.
(() => {
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const byId = (name) => document.getElementById("explorer-" + name);
  const plot = byId("plot"), pattern = byId("pattern"), tip = byId("tip");
  const chooseX = byId("x"), chooseY = byId("y"), polar = byId("polar");
  const column = Object.fromEntries(data.columns.map((name, at) => [name, data.rows[at]]));
  const ink = "#22262b", soft = "#8a929a", line = "#d9dce0", blue = "#0072b2", red = "#b34700", green = "#009e73";
  let chosen = 0, hovered = -1, places = [];

  data.individuals.forEach((_, at) => { if (column.fitness[at] < column.fitness[chosen]) chosen = at; });
  for (const choose of [chooseX, chooseY]) {
    for (const name of data.columns) choose.add(new Option(name, name));
  }
  chooseX.value = data.across;
  chooseY.value = data.up;
  const front = new Set(data.front);

  function shown(value) { return value === null ? "" : String(value); }

  // A canvas as sharp as the screen; returns its context, width and height in CSS pixels.
  function sheet(canvas) {
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const to = canvas.getContext("2d");
    to.scale(ratio, ratio);
    to.clearRect(0, 0, width, height);
    to.font = "12px system-ui, sans-serif";
    return [to, width, height];
  }

  function ends(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    if (low > high) return [0, 1];
    const margin = (high - low || Math.abs(high) || 1) * 0.04;
    return [low - margin, high + margin];
  }

  function ticks(low, high) {
    const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    const found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(+at.toPrecision(10));
    return found;
  }

  // Frame, ticks and labels; returns functions from values to pixels.
  function frame(to, width, height, xs, ys, xLabel, yLabel) {
    const left = 62, right = width - 12, top = 12, bottom = height - 42;
    const x = (value) => left + (value - xs[0]) / (xs[1] - xs[0]) * (right - left);
    const y = (value) => bottom - (value - ys[0]) / (ys[1] - ys[0]) * (bottom - top);
    to.strokeStyle = line;
    to.fillStyle = ink;
    to.textAlign = "center";
    for (const at of ticks(...xs)) {
      to.beginPath(); to.moveTo(x(at), top); to.lineTo(x(at), bottom); to.stroke();
      to.fillText(String(at), x(at), bottom + 16);
    }
    to.textAlign = "right";
    for (const at of ticks(...ys)) {
      to.beginPath(); to.moveTo(left, y(at)); to.lineTo(right, y(at)); to.stroke();
      to.fillText(String(at), left - 6, y(at) + 4);
    }
    to.textAlign = "center";
    to.fillText(xLabel, (left + right) / 2, height - 8);
    to.save(); to.translate(12, (top + bottom) / 2); to.rotate(-Math.PI / 2); to.fillText(yLabel, 0, 0); to.restore();
    return [x, y];
  }

  function dot(to, [x, y], radius, colour) {
    to.fillStyle = colour;
    to.beginPath(); to.arc(x, y, radius, 0, 2 * Math.PI); to.fill();
  }

  function drawPlot() {
    const [to, width, height] = sheet(plot);
    const xs = column[chooseX.value], ys = column[chooseY.value];
    const [x, y] = frame(to, width, height, ends(xs), ends(ys), chooseX.value, chooseY.value);
    places = data.individuals.map((_, at) => xs[at] === null || ys[at] === null ? null : [x(xs[at]), y(ys[at])]);
    places.forEach((place, at) => { if (place) dot(to, place, 2.5, data.patterns[data.individuals[at]] ? blue : soft); });
    for (const at of data.front) if (places[at]) dot(to, places[at], 4, green);
    if (hovered >= 0 && places[hovered]) dot(to, places[hovered], 5, ink);
    if (places[chosen]) dot(to, places[chosen], 5, red);
  }

  function drawCurve(to, points, colour, dash) {
    to.strokeStyle = colour;
    to.lineWidth = 1.6;
    to.setLineDash(dash);
    to.beginPath();
    points.forEach(([x, y], at) => at ? to.lineTo(x, y) : to.moveTo(x, y));
    to.stroke();
    to.setLineDash([]);
    to.lineWidth = 1;
  }

  function drawPattern() {
    const [to, width, height] = sheet(pattern), own = data.patterns[data.individuals[chosen]];
    to.fillStyle = ink;
    if (!own) {
      to.textAlign = "center";
      to.fillText("Patterns are here of " + Object.keys(data.patterns).length + " antennas, the best ones.", width / 2, height / 2);
      return;
    }
    const bothSides = data.theta_deg[0] < 0; // else the other half mirrors this one
    const high = Math.ceil(Math.max(...own.e, ...own.h) / 5) * 5, low = high - 50;
    const curves = [[own.e, blue, []], [own.h, red, [6, 4]]];
    if (polar.checked) {
      const middle = [width / 2, height / 2 + 4], radius = Math.min(width, height) / 2 - 26;
      const at = (theta, level, side) => {
        const away = Math.max(level - low, 0) / (high - low) * radius, angle = side * theta * Math.PI / 180;
        return [middle[0] + away * Math.sin(angle), middle[1] - away * Math.cos(angle)];
      };
      to.textAlign = "left";
      for (let level = low + 10; level <= high; level += 10) {
        to.strokeStyle = line;
        to.beginPath(); to.arc(...middle, (level - low) / (high - low) * radius, 0, 2 * Math.PI); to.stroke();
        to.fillText(String(level), middle[0] + 3, middle[1] - (level - low) / (high - low) * radius + 12);
      }
      for (let theta = 0; theta < 360; theta += 30) {
        to.strokeStyle = line;
        to.beginPath(); to.moveTo(...middle); to.lineTo(...at(theta, high, 1)); to.stroke();
        const [x, y] = at(theta, high + 2, 1);
        to.textAlign = "center";
        to.fillText(String(theta > 180 ? theta - 360 : theta) + "°", x, y + 4);
      }
      for (const [levels, colour, dash] of curves) {
        for (const side of bothSides ? [1] : [1, -1]) drawCurve(to, data.theta_deg.map((theta, k) => at(theta, levels[k], side)), colour, dash);
      }
    } else {
      const [x, y] = frame(to, width, height, [bothSides ? -180 : 0, 180], [low, high], "theta, degrees", "directivity, dBi");
      for (const [levels, colour, dash] of curves) {
        drawCurve(to, data.theta_deg.map((theta, k) => [x(theta), y(Math.max(levels[k], low))]), colour, dash);
      }
    }
    to.textAlign = "right";
    to.fillStyle = blue; to.fillText("E plane", width - 16, 26);
    to.fillStyle = red; to.fillText("H plane (dashed)", width - 16, 42);
    to.fillStyle = ink; to.fillText(data.frequency, width - 16, 58);
  }

  function showValues() {
    byId("name").textContent = data.individuals[chosen] + (front.has(chosen) ? ", on the front" : "");
    byId("command").textContent = data.commands.replaceAll("ID", data.individuals[chosen]);
    const table = byId("values");
    table.replaceChildren();
    data.columns.forEach((name, at) => {
      const row = table.insertRow();
      row.insertCell().textContent = name;
      row.insertCell().textContent = shown(data.rows[at][chosen]);
    });
  }

  function nearest(event) {
    const box = plot.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let found = -1, least = 15 ** 2;
    places.forEach((place, at) => {
      if (!place) return;
      const away = (place[0] - x) ** 2 + (place[1] - y) ** 2;
      if (away < least) [found, least] = [at, away];
    });
    return found;
  }

  plot.addEventListener("mousemove", (event) => {
    const at = nearest(event);
    if (at !== hovered) { hovered = at; drawPlot(); }
    tip.hidden = at < 0;
    if (at < 0) return;
    tip.textContent = [data.individuals[at], ...new Set([...(data.front.length ? [] : ["fitness"]), chooseX.value, chooseY.value])]
      .map((name, place) => place ? name + " " + shown(column[name][at]) : name).join(", ");
    tip.style.left = Math.min(places[at][0] + 12, plot.clientWidth - 220) + "px";
    tip.style.top = places[at][1] + 12 + "px";
  });
  plot.addEventListener("mouseleave", () => { hovered = -1; tip.hidden = true; drawPlot(); });
  plot.addEventListener("click", (event) => {
    const at = nearest(event);
    if (at < 0) return;
    chosen = at;
    drawPlot(); drawPattern(); showValues();
  });
  for (const choose of [chooseX, chooseY]) choose.addEventListener("change", drawPlot);
  polar.addEventListener("change", drawPattern);
  window.addEventListener("resize", () => { drawPlot(); drawPattern(); });
  drawPlot(); drawPattern(); showValues();
})();
