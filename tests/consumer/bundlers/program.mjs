// The program to bundle: records a run and prints the result.
import { Client } from "millrace";

const client = new Client({ endpoint: process.env.ENDPOINT });
let workers = 0;
process.on("worker", () => (workers += 1));
client.startRun({ name: "bundled" }).end({ ok: true });
const report = async () => {
  const { delivered } = await client.flush({ timeoutMs: 10_000 });
  console.log(JSON.stringify({ delivered, threaded: workers === 1 }));
  await client.close();
};
void report();
