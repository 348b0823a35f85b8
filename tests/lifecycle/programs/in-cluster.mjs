// Records in two children of a cluster and in their parent. All of them end naturally.
import cluster from "node:cluster";
import { Client } from "millrace";

const [, , endpoint] = process.argv;
// The cluster module ends a disconnected child with process.exit, so a busy machine needs a longer limit.
const client = new Client({ endpoint, exitTimeoutMs: 20_000 });
if (cluster.isPrimary) {
  cluster.fork();
  cluster.fork();
}
for (let i = 0; i < 3; i++) {
  client.startRun({ name: `run ${i}` }).end({});
}
if (cluster.isWorker) {
  process.disconnect();
}
