// Records runs with durability spool-first, prints the id of each run whose `end` call returned, and kills itself.
import { writeSync } from "node:fs";
import { Client } from "millrace";

const [, , spoolDir, endpoint, when] = process.argv;
const client = new Client({ endpoint, spoolDir, durability: "spool-first", tapeBytes: 16_384 });

for (let i = 0; i < 200; i++) {
  const run = client.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(i * 5) } });
  run.end({ i });
  writeSync(1, `${run.id}\n`);
}
if (when.startsWith("in the tick")) {
  process.kill(process.pid, "SIGKILL");
}
setTimeout(() => process.kill(process.pid, "SIGKILL"), 700);
setInterval(() => {}, 1_000);
