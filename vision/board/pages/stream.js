// The events of the server, as all tabs of a browser share them; where a browser has no shared workers, a stream of its own.

const KINDS = ["reset", "update", "tick"];

// Calls `receive` with the kind and content of each event; `refused` comes where the server gives none.
export function listen(address, receive) {
  if (typeof SharedWorker === "undefined") return listenAlone(address, receive);
  const worker = new SharedWorker("/stream_worker.js", { name: "shoe-reader" });
  worker.port.onmessage = ({ data }) => receive(data.kind, data.data);
  worker.port.postMessage({ address });
  worker.addEventListener("error", () => listenAlone(address, receive), { once: true });
  addEventListener("pagehide", () => worker.port.postMessage({ address: "" }));
  addEventListener("pageshow", ({ persisted }) => { if (persisted) worker.port.postMessage({ address }); });
}

function listenAlone(address, receive) {
  const source = new EventSource(address);
  for (const kind of KINDS) source.addEventListener(kind, (event) => receive(kind, JSON.parse(event.data)));
  source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) receive("refused"); });
}
