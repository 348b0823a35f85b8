// Records, and enters a context, for the first time when the call stack is exhausted. Prints whether contexts and timers
// work later, and ends by itself.
import { setTimeout as wait } from "node:timers/promises";
import { Client, currentRun, withRun } from "millrace";

const client = new Client({ endpoint: process.argv[2], logger: { warn: () => undefined } });
const run = client.startRun({ name: "entered" });
let framesLeft = 400;

function descend() {
  try {
    descend();
  } catch {
    // The stack is exhausted here.
  }
  if (framesLeft > 0) {
    framesLeft -= 1;
    withRun(run, () => client.startRun({ name: "child" }).end());
  }
}

try {
  descend();
} catch {
  // The program itself may have had too little stack for the call.
}
let timerFired = false;
setTimeout(() => (timerFired = true), 250);
const inside = await withRun(run, async () => {
  await wait(300);
  return currentRun()?.name;
});
process.stdout.write(JSON.stringify({ inside, outside: currentRun()?.name ?? null, timerFired }));
