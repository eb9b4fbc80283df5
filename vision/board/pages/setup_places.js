// Areas as polygons over a picture, moved by pointer or keys; their size is the cards'.

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
    this.ways = {}; // of areas that were moved: x, y in pixels of the camera's picture
    svg.setAttribute("viewBox", `0 0 ${saved.size.join(" ")}`);
    svg.parentElement.style.aspectRatio = saved.size.join(" / ");
    this.groups = new Map(Object.entries(saved.places).map(([name, points]) => [name, this.build(name, points, 1.5 * saved.size[0] / 100)]));
    svg.replaceChildren(...this.groups.values());
  }

  build(name, points, size) {
    const group = shape("g", { class: name });
    const area = shape("polygon", { points: points.join(" "), tabindex: 0, role: "button", "aria-label": word("setup.drag", { area: areaName(name) }) });
    area.addEventListener("pointerdown", (event) => this.drag(event, name));
    area.addEventListener("keydown", (event) => this.key(event, name));
    const [x, y] = [0, 1].map((i) => points.reduce((sum, point) => sum + point[i], 0) / points.length);
    group.append(area, shape("text", { x, y, "font-size": size }, areaName(name)));
    return group;
  }

  shift(name, way) {
    this.ways[name] = way;
    const group = this.groups.get(name);
    group.setAttribute("transform", `translate(${way})`);
    group.classList.add("moved");
    this.changed();
  }

  // Show outlines of cards and areas as they would be over the picture; nothing of them is dragged.
  propose(seen, places) {
    this.svg.querySelectorAll(".seen, .proposed").forEach((old) => old.remove());
    const outline = (kind, name, points) => shape("polygon", { class: `${kind} ${name}`, points: points.join(" ") });
    this.svg.append(...Object.entries(places).map(([name, points]) => outline("proposed", name, points)), ...Object.entries(seen).map(([name, points]) => outline("seen", name, points)));
    for (const group of this.groups.values()) group.toggleAttribute("hidden", Object.keys(places).length > 0);
  }

  key(event, name) {
    const way = KEYS[event.key];
    if (!way) return;
    event.preventDefault();
    const [x, y] = this.ways[name] ?? [0, 0];
    const far = event.shiftKey ? 10 : 1;
    this.shift(name, [x + far * way[0], y + far * way[1]]);
  }

  drag(event, name) {
    const target = event.currentTarget;
    const [x, y] = this.ways[name] ?? [0, 0];
    const start = this.at(event);
    target.setPointerCapture(event.pointerId);
    const move = (next) => { const here = this.at(next); this.shift(name, [x + here.x - start.x, y + here.y - start.y]); };
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => target.removeEventListener("pointermove", move), { once: true });
  }

  // Where the pointer is, in pixels of the camera's picture.
  at(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }
}
