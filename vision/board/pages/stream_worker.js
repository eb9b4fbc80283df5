// One stream of events for all tabs of a browser: browsers open six connections to a host, and no more, so the
// seventh tab with a stream of its own would wait for ever. Tables of the public boards share one address.

const PUBLIC = "/events/";
const RETRY_MS = 5000; // after a refusal, as 503 has it: a browser gives up such a stream by itself
const PASSING = ["cmd/reply", "alert"]; // reports of an event; the state is in another topic

class Stream {
  constructor(base) {
    this.base = base;
    this.ports = new Map(); // each tab, with its tables, by commas ("" for all)
    this.fresh = new Set(); // tabs that begin with the whole state
    this.state = new Map();
    this.house = {};
    this.tick = null;
  }

  join(port, table) {
    this.ports.set(port, table);
    this.fresh.add(port);
    if (this.source?.readyState === EventSource.OPEN && this.address === this.wanted) this.begin(port);
    else this.open();
  }

  leave(port) {
    this.ports.delete(port);
    this.fresh.delete(port);
    if (!this.ports.size) this.close();
  }

  get wanted() { return this.base === PUBLIC ? PUBLIC + [...new Set([...this.ports.values()].flatMap((names) => names.split(",")))].sort().map(encodeURIComponent).join() : this.base; }

  close() {
    clearTimeout(this.again);
    this.source?.close();
    this.source = null;
  }

  open() {
    this.close();
    this.address = this.wanted;
    const source = this.source = new EventSource(this.address);
    source.addEventListener("reset", (event) => this.reset(JSON.parse(event.data)));
    source.addEventListener("update", (event) => this.take(JSON.parse(event.data)));
    source.addEventListener("tick", (event) => this.all("tick", this.tick = JSON.parse(event.data)));
    source.addEventListener("error", () => {
      this.tick = null;
      for (const port of this.ports.keys()) this.fresh.add(port);
      if (source.readyState !== EventSource.CLOSED) return;
      this.all("refused");
      this.again = setTimeout(() => this.open(), RETRY_MS);
    });
  }

  // Tabs that go on keep what they show: the same state follows.
  reset(house) {
    this.house = house;
    this.state.clear();
    for (const port of this.fresh) this.begin(port);
  }

  begin(port) {
    this.fresh.delete(port);
    const table = this.ports.get(port);
    port.postMessage({ kind: "reset", data: table ? Object.fromEntries(table.split(",").map((one) => [one, this.house[one]])) : this.house });
    for (const update of this.state.values()) if (!table || table.split(",").includes(update.table)) port.postMessage({ kind: "update", data: update });
    if (this.tick) port.postMessage({ kind: "tick", data: this.tick });
  }

  take(update) {
    const { table, topic, payload } = update;
    const key = [table, topic, topic === "coup/result" ? payload?.coup : topic === "card" ? payload?.order : ""].join("|");
    // The newest come last, so that what is of another shoe goes as it did.
    this.state.delete(key);
    if (payload && !PASSING.includes(topic)) this.state.set(key, update);
    this.all("update", update);
  }

  all(kind, data) {
    for (const [port, table] of this.ports) if (kind !== "update" || !table || table.split(",").includes(data.table)) port.postMessage({ kind, data });
  }
}

const streams = new Map();

function enter(port, address) {
  const base = address.startsWith(PUBLIC) ? PUBLIC : address;
  if (!streams.has(base)) streams.set(base, new Stream(base));
  streams.get(base).join(port, decodeURIComponent(address.slice(base.length)));
}

addEventListener("connect", ({ ports: [port] }) => {
  port.onmessage = ({ data }) => {
    for (const stream of streams.values()) if (stream.ports.has(port)) stream.leave(port);
    if (data.address) enter(port, data.address);
  };
});
