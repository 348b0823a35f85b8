// Records a run, waits until the first failure is known if its arguments say so, prints the counters and ends.
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "millrace";

const [, , ending, endpoint, json = "{}"] = process.argv;
const client = new Client({ endpoint, ...JSON.parse(json) });
client.startRun({ name: "run" }).end({});
while (ending !== "at once" && client.stats().lastFailure === undefined) {
  await delay(5);
}
process.stdout.write("over\n");
if (ending === "exit") {
  process.exit(0);
}
