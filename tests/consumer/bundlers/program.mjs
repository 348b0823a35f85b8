// The program to bundle: records two runs and prints the results. The first flush of a program needs no worker.
import { Client } from "millrace";

const client = new Client({ endpoint: process.env.ENDPOINT });
let workers = 0;
process.on("worker", () => (workers += 1));
const report = async () => {
  client.startRun({ name: "first" }).end({ ok: true });
  const first = await client.flush({ timeoutMs: 10_000 });
  const workersAtFirst = workers;
  client.startRun({ name: "bundled" }).end({ ok: true });
  const { delivered } = await client.flush({ timeoutMs: 10_000 });
  const results = { first: first.delivered, workersAtFirst, delivered, threaded: workers === 1 };
  console.log(JSON.stringify(results));
  await client.close();
};
void report();
