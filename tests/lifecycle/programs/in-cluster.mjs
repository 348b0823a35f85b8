// Records in two children of a cluster and in their parent, all of which end by themselves.
import cluster from "node:cluster";
import { Client } from "millrace";

const [, , endpoint] = process.argv;
// A child that disconnects is ended by the cluster, with process.exit: a busy machine needs its time.
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
