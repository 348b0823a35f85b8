// Records one run and waits for its delivery, as the client's documentation says.
import { endpoint, inputs, markDelivered, measureImport, outputs } from "./measured.mjs";

const { Client } = await measureImport(() => import("millrace"));
const client = new Client({ endpoint, apiKey: "bench" });
const run = client.startRun({ name: "answer", runType: "llm", inputs });
run.end(outputs);
await client.flush();
markDelivered();
