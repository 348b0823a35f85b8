// Records in a worker thread of the program, which then ends in the way that the first argument names.
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { Client } from "millrace";

const [, , ending, endpoint] = process.argv;
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { ending, endpoint } });
  worker.on("exit", (code) => process.stdout.write(`thread ended with ${code}\n`));
} else {
  const client = new Client({ endpoint: workerData.endpoint, exitTimeoutMs: 20_000 });
  for (let i = 0; i < 3; i++) {
    client.startRun({ name: `run ${i}` }).end({});
  }
  if (workerData.ending === "exit") {
    process.exit(4);
  }
  if (workerData.ending === "throw") {
    setImmediate(() => process.exit(5));
  }
}
