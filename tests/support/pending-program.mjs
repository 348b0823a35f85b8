// Records runs with a spool and default durability, waits for the moment that the last argument names, and kills itself.
// It prints the ids of the runs that must be in the spool.
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "millrace";

const [, , spoolDir, endpoint, when] = process.argv;
const client = new Client({
  endpoint,
  spoolDir,
  tapeBytes: 16_384,
  requestsInFlight: 2,
  logger: { warn: () => undefined },
});
const record = (count) => {
  const ids = [];
  for (let i = 0; i < count; i++) {
    const run = client.startRun({ name: `run ${i}`, inputs: { text: "x".repeat(i * 20) } });
    run.end({ i });
    ids.push(run.id);
  }
  return ids;
};
const print = (ids) => writeSync(1, ids.map((id) => `${id}\n`).join(""));

switch (when) {
  case "after a flush that reported pending": {
    const ids = record(200);
    const { pending } = await client.flush({ timeoutMs: 400 });
    print(pending === 400 ? ids : []);
    break;
  }
  case "a second after the first failure": {
    // More than the tapes in flight can hold, so that some records wait behind those that failed.
    const ids = record(200);
    while (client.stats().lastFailure === undefined) {
      await delay(5);
    }
    const failedAt = performance.now();
    const later = record(1);
    while (performance.now() - failedAt < 1_000) {
      await delay(5);
    }
    print([...ids, ...later]);
    break;
  }
  default:
    throw new RangeError(`No such moment: ${when}`);
}
process.kill(process.pid, "SIGKILL");
