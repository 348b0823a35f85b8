// What does it cost the main thread to write each record to disk before the call returns (`durability: "spool-first"`)?
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Spool } from "../dist/workers/spool/spool.js";
import { publish } from "./results.ts";
import { cycle, RecordingOnly } from "./recording.ts";
import { timeVariants } from "./timing.ts";
import type { Variant } from "./timing.ts";
import { createPayloads, runsPerTree, sizeNames } from "./workload.ts";
import type { SizeName } from "./workload.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const spool = new Spool({
  folder,
  quotaBytes: 1_073_741_824,
  syncMs: 500,
  onLost: () => undefined,
  onFault: (kind, message) => {
    throw new Error(`${kind}: ${message}`);
  },
});

publish({
  script: "durability",
  question: 'What does `durability: "spool-first"` cost the main thread, for a start and an end?',
  body: await timeVariants(
    sizeNames.flatMap((size) => [createVariant(size, false), createVariant(size, true)]),
  ),
});
spool.close();
rmSync(folder, { recursive: true });

/** The complete work of a start and an end on the caller's thread. Tapes and their journals are discarded. */
function createVariant(size: SizeName, isOnDisk: boolean): Variant {
  const nextPayload = cycle(createPayloads(size));
  const client = new RecordingOnly(
    (tape) => {
      tape.journal?.discard();
      return Promise.resolve({ delivered: tape.records, lost: 0 });
    },
    isOnDisk ? { openJournal: () => spool.createJournal() } : {},
  );
  return {
    group: `start and end of a run, ${size}`,
    name: isOnDisk ? "spool-first" : "memory",
    times: runsPerTree,
    run: () => client.recordTree(nextPayload),
  };
}
