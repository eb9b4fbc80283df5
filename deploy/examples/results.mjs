// Print each result of every table: `node results.mjs HOST PORT [USER PASSWORD CA]`.
import { readFileSync } from "node:fs";
import mqtt from "mqtt"; // npm install mqtt

const [host, port, username, password, ca] = process.argv.slice(2);
const secure = ca ? { username, password, ca: readFileSync(ca), protocol: "mqtts" } : {};
const client = mqtt.connect({ host, port: Number(port), protocol: "mqtt", ...secure });
const last = new Map(); // by topic, the newest message taken: the same may come twice

client.on("connect", () => client.subscribe("casino/+/table/+/coup/result", { qos: 1 }));
client.on("message", (topic, payload) => {
  const result = JSON.parse(payload);
  if (result.seq <= (last.get(topic) ?? -1)) return;
  last.set(topic, result.seq);
  console.log(result.table, result.shoe, result.coup, result.revision, result.state, result.winner);
});
