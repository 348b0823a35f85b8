// A process of its own that claims all the tapes it can get, and says what they were.
import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import { Spool } from "../../dist/workers/spool.js";

process.send("ready");
await once(process, "message");
const bodies = [];
for await (const tape of new Spool(process.argv[2]).claim(() => undefined)) {
  bodies.push(Buffer.from(tape.body).toString("latin1"));
  // The others have their turn.
  await setImmediate();
  await tape.release();
}
process.send(bodies);
process.disconnect();
