// Does a start and an end cost more in a long queue? The queue is at its bound: with each tape that is new the oldest gives way.
import { cycle, RecordingOnly } from "./recording.ts";
import { publish } from "./results.ts";
import { timeWays } from "./timing.ts";
import type { Way } from "./timing.ts";
import { createPayloads, runsPerTree } from "./workload.ts";

/** Small, so that there are many. */
const tapeBytes = 16_384;
const never = (): void => undefined;

publish({
  script: "queue",
  question: "Does a start and an end cost more in a long queue?",
  body: await timeWays([16, 256, 4_096].map(way)),
});

function way(tapes: number): Way {
  const next = cycle(createPayloads("S"));
  const client = new RecordingOnly(() => new Promise(never), {
    tapeBytes,
    maxQueueBytes: tapes * tapeBytes,
    overflow: "drop-oldest",
  });
  // Full before the clock runs.
  for (let bytes = 0; bytes < (tapes + 32) * tapeBytes; bytes += tapeBytes / 2) {
    client.tree(next);
  }
  return {
    group: "start and end of a run, S, at the bound",
    name: `${tapes.toLocaleString("en-US")} tapes wait`,
    times: runsPerTree,
    run: () => client.tree(next),
  };
}
