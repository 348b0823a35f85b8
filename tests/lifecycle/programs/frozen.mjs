// Records a run, prints "ready", and records once more when it reads a line from its standard input.
import { once } from "node:events";
import { Client } from "millrace";

const [, , endpoint] = process.argv;
const client = new Client({ endpoint, workerStallMs: 1_000, timeoutMs: 2_000 });
const record = () => {
  for (let i = 0; i < 50; i++) {
    client.startRun({ name: `run ${i}` }).end({});
  }
};
record();
await client.flush({ timeoutMs: 100 });
record();
process.stdout.write("ready\n");
await once(process.stdin, "data");
record();
const { pending } = await client.flush({ timeoutMs: 20_000 });
const { accepted, delivered, warnings } = client.stats();
process.stdout.write(`${JSON.stringify({ accepted, delivered, pending, warnings })}\n`);
await client.close();
process.stdin.destroy();
