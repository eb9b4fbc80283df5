// Plays a clip of evidence: JPEG pictures in an AVI file, which browsers do not play.

import { button, make } from "/live.js";
import { word } from "/words.js";

const FRAME = 0x63643030; // "00dc", little-endian

// The pictures of the film, in order.
export function framesOf(buffer) {
  const view = new DataView(buffer);
  const frames = [];
  for (let at = 12; at + 8 <= view.byteLength;) {
    const name = view.getUint32(at, true);
    const size = view.getUint32(at + 4, true);
    const isList = name === 0x5453494c; // "LIST": look inside
    if (name === FRAME && size) frames.push(new Blob([buffer.slice(at + 8, at + 8 + size)], { type: "image/jpeg" }));
    at += isList ? 12 : 8 + size + (size % 2);
  }
  return frames;
}

export function player(frames, label, perSecond = 8) {
  const box = make("div", "player");
  const image = Object.assign(make("img"), { alt: label });
  const slider = Object.assign(make("input"), { type: "range", min: 0, max: frames.length - 1, value: 0 });
  slider.setAttribute("aria-label", word("clip.picture", { label }));
  const addresses = frames.map((frame) => URL.createObjectURL(frame));
  const show = () => { image.src = addresses[slider.value]; };
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = word("clip.play"); };
  const play = button("", word("clip.play"), () => {
    if (timer) return stop();
    if (Number(slider.value) >= frames.length - 1) slider.value = 0;
    play.textContent = word("clip.stop");
    timer = setInterval(() => {
      if (!box.isConnected || Number(slider.value) >= frames.length - 1) return stop();
      slider.stepUp();
      show();
    }, 1000 / perSecond);
  });
  slider.addEventListener("input", show);
  show();
  box.append(image, play, slider);
  return box;
}
