// Do a start and an end cost more if the queue is long? The queue is at its bound, so each new tape evicts the oldest
// one.
import { cycle, RecordingOnly } from "./recording.ts";
import { publish } from "./results.ts";
import { timeVariants } from "./timing.ts";
import type { Variant } from "./timing.ts";
import { createPayloads, runsPerTree } from "./workload.ts";

/** Small tapes, so that the queue has many. */
const tapeBytes = 16_384;
const neverSettle = (): void => undefined;

publish({
  script: "queue",
  question: "Do a start and an end cost more if the queue is long?",
  body: await timeVariants([16, 256, 4_096].map(createVariant)),
});

function createVariant(tapes: number): Variant {
  const nextPayload = cycle(createPayloads("S"));
  const client = new RecordingOnly(() => new Promise(neverSettle), {
    tapeBytes,
    maxQueueBytes: tapes * tapeBytes,
    overflow: "drop-oldest",
  });
  // Fill the queue before the measurement.
  for (let bytes = 0; bytes < (tapes + 32) * tapeBytes; bytes += tapeBytes / 2) {
    client.recordTree(nextPayload);
  }
  return {
    group: "start and end of a run, S, at the bound",
    name: `${tapes.toLocaleString("en-US")} waiting tapes`,
    times: runsPerTree,
    run: () => client.recordTree(nextPayload),
  };
}
