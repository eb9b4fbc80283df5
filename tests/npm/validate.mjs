// Parse an AsyncAPI document with AsyncAPI's own parser; print what it finds, fail on an error.
import { readFileSync } from "node:fs";
import { Parser } from "@asyncapi/parser";

const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], "utf-8"));
for (const each of diagnostics) {
  console.log(["error", "warning", "info", "hint"][each.severity], each.path.join("."), each.message);
}
const channels = document ? document.allChannels().all() : [];
console.log(`${channels.length} channels, ${document?.allMessages().all().length ?? 0} messages`);
process.exit(document && diagnostics.every((each) => each.severity > 0) ? 0 : 1);
