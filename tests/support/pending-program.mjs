// Records runs with a spool and default durability, waits as the last argument says, and is killed. What it
// printed is the ids of the runs that the spool has to hold.
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
const say = (ids) => writeSync(1, ids.map((id) => `${id}\n`).join(""));

switch (when) {
  case "after a flush that reported pending": {
    const ids = record(200);
    const { pending } = await client.flush({ timeoutMs: 400 });
    say(pending === 400 ? ids : []);
    break;
  }
  case "a second after the first failure": {
    // More than the slots take, so that some of it waits behind what failed.
    const ids = record(200);
    while (client.stats().lastFailure === undefined) {
      await delay(5);
    }
    const failedAt = performance.now();
    const later = record(1);
    while (performance.now() - failedAt < 1_000) {
      await delay(5);
    }
    say([...ids, ...later]);
    break;
  }
  default:
    throw new RangeError(`No such moment: ${when}`);
}
process.kill(process.pid, "SIGKILL");
