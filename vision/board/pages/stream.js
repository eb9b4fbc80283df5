// The events of the server, as all tabs of a browser share them; where a browser has no shared workers, a stream of its own.

const KINDS = ["reset", "update", "tick"];

// Calls `hear` with the kind and content of each event; `refused` comes where the server gives none.
export function listen(address, hear) {
  if (typeof SharedWorker === "undefined") return listenAlone(address, hear);
  const worker = new SharedWorker("/stream_worker.js", { name: "shoe-reader" });
  worker.port.onmessage = ({ data }) => hear(data.kind, data.data);
  worker.port.postMessage({ address });
  worker.addEventListener("error", () => listenAlone(address, hear), { once: true });
  addEventListener("pagehide", () => worker.port.postMessage({ address: "" }));
  addEventListener("pageshow", ({ persisted }) => { if (persisted) worker.port.postMessage({ address }); });
}

function listenAlone(address, hear) {
  const source = new EventSource(address);
  for (const kind of KINDS) source.addEventListener(kind, (event) => hear(kind, JSON.parse(event.data)));
  source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) hear("refused"); });
}
