// Performs a task on a spool in a separate process, and reports the result. The second argument names the task.
import { once } from "node:events";
import { Spool } from "../../dist/workers/spool/spool.js";

const [, , folder, task] = process.argv;
const troubles = [];
const spool = new Spool({
  folder,
  quotaBytes: 100_000_000,
  syncMs: 60_000,
  onLost: () => undefined,
  onFault: (kind, message) => troubles.push([kind, message]),
});

switch (task) {
  case "append and be killed":
    spool.append(Buffer.from("one"), 1);
    spool.append(Buffer.from("two"), 1);
    process.kill(process.pid, "SIGKILL");
    break;
  case "claim": {
    process.send("ready");
    await once(process, "message");
    const bodies = [];
    await spool.claim();
    for (
      let tape = await spool.readNextTape();
      tape !== undefined;
      tape = await spool.readNextTape()
    ) {
      bodies.push(Buffer.from(tape.body).toString("latin1"));
      spool.completeTape();
    }
    spool.close();
    process.send(bodies);
    process.disconnect();
    break;
  }
  case "fill the disk": {
    // The parent process limits the size of files.
    const results = [];
    for (const body of ["a".repeat(3_000), "b".repeat(3_000), "c".repeat(100)]) {
      try {
        spool.append(Buffer.from(body), 1);
        results.push("written");
      } catch (error) {
        results.push(error.code);
      }
    }
    spool.close();
    process.stdout.write(JSON.stringify(results));
    break;
  }
  default:
    throw new RangeError(`No such task: ${task}`);
}
