// What does writing each record to disk before the call returns (spool-first) cost the traced thread?
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Spool } from "../dist/workers/spool/spool.js";
import { publish } from "./results.ts";
import { cycle, RecordingOnly } from "./recording.ts";
import { timeWays } from "./timing.ts";
import type { Way } from "./timing.ts";
import { createPayloads, runsPerTree, sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const spool = new Spool({
  folder,
  quotaBytes: 1_073_741_824,
  syncMs: 500,
  onLost: () => undefined,
  onTrouble: (kind, message) => {
    throw new Error(`${kind}: ${message}`);
  },
});

publish({
  script: "durability",
  question: 'What does `durability: "spool-first"` cost the traced thread, for a start and an end?',
  body: await timeWays(sizeNames.flatMap((size) => [way(size, false), way(size, true)])),
});
spool.close();
rmSync(folder, { recursive: true });

/** All that a start and an end do on the caller's thread; tapes go nowhere, and their journals with them. */
function way(size: SizeName, onDisk: boolean): Way {
  const next = cycle(createPayloads(size));
  const client = new RecordingOnly(
    (tape) => {
      tape.journal?.discard();
      return Promise.resolve({ delivered: tape.records, lost: 0 });
    },
    onDisk ? { journal: () => spool.journal() } : {},
  );
  return {
    group: `start and end of a run, ${size}`,
    name: onDisk ? "spool-first" : "memory",
    times: runsPerTree,
    run: () => client.tree(next),
  };
}
