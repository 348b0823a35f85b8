// Records a run with small and large attachments, under any runtime, and prints what arrived.
import { Client } from "millrace";

const client = new Client({ endpoint: process.env.ENDPOINT });
const run = client.startRun({ name: "run", inputs: { text: "é".repeat(50_000) } });
run.end({ answer: 42 });
const withFile = client.startRun({
  name: "with a file",
  attachments: { file: { mimeType: "image/png", data: new Uint8Array(300_000).fill(7) } },
});
withFile.end({});
const { delivered, pending } = await client.flush({ timeoutMs: 20_000 });
await client.close();
console.log(JSON.stringify({ delivered, pending, failure: client.stats().lastFailure ?? null }));
