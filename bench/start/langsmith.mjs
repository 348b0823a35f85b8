// Records one run and waits for its delivery, as the client's documentation says.
import { endpoint, inputs, markDelivered, measureImport, outputs } from "./measured.mjs";

const { Client, RunTree } = await measureImport(() => import("langsmith"));
const client = new Client({ apiUrl: endpoint, apiKey: "bench" });
const run = new RunTree({ client, name: "answer", run_type: "llm", inputs, tracingEnabled: true });
await run.postRun();
await run.end(outputs);
await run.patchRun();
await client.awaitPendingTraceBatches();
markDelivered();
