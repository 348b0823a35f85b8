// Records a run with attachments that are larger than a tape, with durability spool-first, prints the run's id, and kills itself.
import { writeSync } from "node:fs";
import { Client } from "millrace";

const [, , spoolDir, endpoint] = process.argv;
const client = new Client({ endpoint, spoolDir, durability: "spool-first", tapeBytes: 16_384 });
const bytes = (size, value) => new Uint8Array(size).fill(value);
const run = client.startRun({ attachments: { first: ["image/png", bytes(40_000, 1)] } });
run.addAttachment("second", { mimeType: "image/png", data: bytes(10, 2) });
run.end({ ok: true }, { attachments: { third: ["image/png", bytes(20_000, 3)] } });
writeSync(1, run.id);
process.kill(process.pid, "SIGKILL");
