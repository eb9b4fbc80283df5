// Areas as polygons over a picture: dragged whole or by a corner, or moved by keys.

import { shape } from "/cards.js";
import { slotName, word, wordOf } from "/words.js";

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
export const areaName = (name) => (name.includes("_") ? slotName(name) : wordOf("area", name));

export class Places {
  // `saved` has size, places and version as the server sent them; `changed` is called after each change.
  constructor(svg, saved, changed) {
    this.svg = svg;
    this.changed = changed;
    Object.assign(this, { version: saved.version, file: saved.file });
    this.measured = Object.keys(saved.places).length > 0;
    this.was = saved.places;
    this.now = structuredClone(saved.places);
    this.unit = saved.size[0] / 100;
    svg.setAttribute("viewBox", `0 0 ${saved.size.join(" ")}`);
    svg.parentElement.style.aspectRatio = saved.size.join(" / ");
    this.groups = new Map(Object.keys(this.now).map((name) => [name, this.build(name)]));
    svg.replaceChildren(...this.groups.values());
    for (const name of this.groups.keys()) this.draw(name);
  }

  moved() {
    return Object.fromEntries(Object.entries(this.now).filter(([name, points]) => JSON.stringify(points) !== JSON.stringify(this.was[name])));
  }

  build(name) {
    const group = shape("g", { class: name });
    const area = shape("polygon", { tabindex: 0, role: "button", "aria-label": word("setup.drag", { area: areaName(name) }) });
    area.addEventListener("pointerdown", (event) => this.drag(event, name, this.now[name].keys()));
    area.addEventListener("keydown", (event) => this.key(event, name));
    group.append(area, shape("text", { "font-size": 1.5 * this.unit }, areaName(name)));
    this.now[name].forEach((_, corner) => {
      const handle = shape("circle", { r: 0.55 * this.unit, tabindex: 0, role: "button", "aria-label": word("setup.corner", { area: areaName(name), n: corner + 1 }) });
      handle.addEventListener("keydown", (event) => this.key(event, name, [corner]));
      handle.addEventListener("pointerdown", (event) => this.drag(event, name, [corner]));
      group.append(handle);
    });
    return group;
  }

  draw(name) {
    const points = this.now[name];
    const group = this.groups.get(name);
    const [area, label, ...handles] = group.children;
    const moved = name in this.moved();
    group.setAttribute("class", `${name} ${moved ? "moved" : ""}`);
    area.setAttribute("points", points.map((point) => point.join()).join(" "));
    const middle = [0, 1].map((i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
    label.setAttribute("x", middle[0]);
    label.setAttribute("y", middle[1]);
    handles.forEach((handle, i) => { handle.setAttribute("cx", points[i][0]); handle.setAttribute("cy", points[i][1]); });
  }

  shift(name, corners, [x, y], from) {
    for (const corner of corners) this.now[name][corner] = [Math.round(10 * (from[corner][0] + x)) / 10, Math.round(10 * (from[corner][1] + y)) / 10];
    this.draw(name);
    this.changed();
  }

  // Show outlines of cards and areas as they would be over the picture; nothing of them is dragged.
  propose(seen, places) {
    this.svg.querySelectorAll(".seen, .proposed").forEach((old) => old.remove());
    const outline = (kind, name, points) => shape("polygon", { class: `${kind} ${name}`, points: points.map((point) => point.join()).join(" ") });
    this.svg.append(...Object.entries(places).map(([name, points]) => outline("proposed", name, points)), ...Object.entries(seen).map(([name, points]) => outline("seen", name, points)));
    for (const group of this.groups.values()) group.toggleAttribute("hidden", Object.keys(places).length > 0);
  }

  key(event, name, corners = this.now[name].keys()) {
    const way = KEYS[event.key];
    if (!way) return;
    event.preventDefault();
    const far = event.shiftKey ? 10 : 1;
    this.shift(name, corners, way.map((step) => step * far), structuredClone(this.now[name]));
  }

  drag(event, name, corners) {
    const target = event.currentTarget;
    const chosen = [...corners];
    const from = structuredClone(this.now[name]);
    const start = this.at(event);
    target.setPointerCapture(event.pointerId);
    const move = (next) => { const here = this.at(next); this.shift(name, chosen, [here.x - start.x, here.y - start.y], from); };
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", move), { once: true });
  }

  // Where the pointer is, in pixels of the camera's picture.
  at(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }
}
