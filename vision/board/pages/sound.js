// A sound when a critical alert comes; whoever is at the desk switches it off, and the browser remembers.

const KEY = "shoe-reader-sound";
// Higher or longer, and it is heard on the floor.
const TONES = [[880, 0], [660, 0.18]];

export function watchSound(button) {
  const known = new Set();
  const on = () => localStorage.getItem(KEY) !== "off";
  const show = () => button.setAttribute("aria-pressed", on());
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, on() ? "off" : "on");
    show();
    if (on()) play(button);
  });
  show();
  return {
    // A browser plays nothing before the first click or key on the page.
    // Take the names of the critical alerts that are open: a new one is heard.
    note(names) {
      const fresh = names.filter((name) => !known.has(name));
      fresh.forEach((name) => known.add(name));
      if (fresh.length && on() && navigator.userActivation.hasBeenActive) play(button);
    },
  };
}

let context = null;

// Short tones: hertz, and the seconds at which each begins.
export function tones(all) {
  context ??= new AudioContext();
  for (const [hertz, begins] of all) {
    const tone = new OscillatorNode(context, { frequency: hertz });
    const volume = new GainNode(context, { gain: 0.2 });
    tone.connect(volume).connect(context.destination);
    tone.start(context.currentTime + begins);
    tone.stop(context.currentTime + begins + 0.15);
  }
}

function play(button) {
  tones(TONES);
  button.dataset.played = Number(button.dataset.played ?? 0) + 1;
}
