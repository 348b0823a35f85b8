// Like millrace.mjs, but the program goes on until a worker thread has delivered the run.
import { setTimeout as sleep } from "node:timers/promises";
import { endpoint, inputs, markDelivered, measureImport, outputs } from "./measured.mjs";

const { Client } = await measureImport(() => import("millrace"));
const client = new Client({ endpoint, apiKey: "bench" });
const run = client.startRun({ name: "answer", runType: "llm", inputs });
run.end(outputs);
while (client.stats().delivered < 2) {
  await sleep(25);
}
markDelivered();
