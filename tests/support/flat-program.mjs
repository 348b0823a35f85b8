// Records as fast as it can, to a server that is ten times slower, and prints the peak of its memory per quarter of the run.
import { setImmediate } from "node:timers/promises";
import { Client } from "millrace";

const [, , endpoint, json] = process.argv;
const client = new Client({
  endpoint,
  maxQueueBytes: 4_194_304,
  tapeBytes: 131_072,
  requestsInFlight: 2,
  batchLimit: 100,
  logger: { warn: () => undefined },
  ...JSON.parse(json),
});
const text = "x".repeat(2_000);
const turns = 2_000;
const peaksMb = [0, 0, 0, 0];
for (let turn = 0; turn < turns; turn++) {
  await client.waitForCapacity({ timeoutMs: 60_000 });
  for (let i = 0; i < 10; i++) {
    client.startRun({ name: "run", inputs: { text } }).end({ turn });
  }
  await setImmediate();
  if (turn % 50 === 0) {
    const quarter = Math.floor((turn / turns) * 4);
    const { arrayBuffers } = process.memoryUsage();
    peaksMb[quarter] = Math.max(peaksMb[quarter], arrayBuffers / 1_048_576);
  }
}
const { accepted, delivered, rejected, dropped, spooled, pending, lost } = client.stats();
process.stdout.write(
  JSON.stringify({
    peaksMb,
    accepted,
    sum: delivered + rejected + dropped + spooled + pending,
    delivered,
    dropped,
    spooled,
    lost,
  }),
);
await client.close({ timeoutMs: 0 });
