// Records runs, and then ends in the way that the first argument names. It prints its counters last.
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "millrace";

const [, , ending, endpoint, json = "{}"] = process.argv;
const { runs = 3, bytes = 10, options = {} } = JSON.parse(json);
if (ending === "once") {
  process.once("SIGTERM", () => setTimeout(() => process.exit(9), 100));
}
if (ending === "exit hook") {
  // Imitates the package signal-exit, as far as other listeners can detect it.
  globalThis[Symbol.for("signal-exit emitter")] = { count: 1 };
  process.on("SIGTERM", function hook() {
    if (process.listeners("SIGTERM").length === 1) {
      process.off("SIGTERM", hook);
      process.kill(process.pid, "SIGTERM");
    }
  });
}
const client = new Client({ endpoint, ...options });

const record = () => {
  for (let i = 0; i < runs; i++) {
    const run = client.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(bytes) } });
    run.end({ text: "y".repeat(bytes) });
  }
};

switch (ending) {
  case "natural":
    record();
    break;
  case "exit":
    record();
    process.exit(3);
    break;
  case "exit in a handler":
    process.on("SIGTERM", () => process.exit(7));
    record();
    setInterval(() => {}, 1_000);
    process.stdout.write("ready\n");
    break;
  case "exit hook":
  case "once":
  case "signal":
    record();
    setInterval(() => {}, 1_000);
    process.stdout.write("ready\n");
    break;
  case "throw":
    record();
    throw new Error("the program's own");
  case "reject":
    record();
    void Promise.reject(new Error("the program's own"));
    break;
  case "flush":
    record();
    process.stdout.write(`${JSON.stringify(await client.flush())}\n`);
    break;
  case "close":
    record();
    await client.close();
    await client.close();
    record();
    process.stdout.write(`${JSON.stringify(client.stats())}\n`);
    break;
  case "nothing":
    break;
  case "spool alone":
    // Waits until records from the spool are in flight.
    while (client.stats().pending === 0) {
      await delay(20);
    }
    break;
  case "delivered":
    record();
    await client.flush();
    process.stdout.write("flushed\n");
    break;
  default:
    throw new RangeError(`No such ending: ${ending}`);
}
