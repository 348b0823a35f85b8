/** The SDK's recording half without its delivering half: runs become tapes, and that is all. */
import type { RunType } from "../dist/model/run.js";
import { Batcher } from "../dist/tracing/queue/batcher.js";
import type { BatcherOptions } from "../dist/tracing/queue/batcher.js";
import { PayloadFilters } from "../dist/tracing/tape/payload-filters.js";
import { Ledger } from "../dist/tracing/queue/ledger.js";
import { encodeEnd, encodeStart } from "../dist/tracing/tape/record-encoder.js";
import { recorder } from "../dist/tracing/tape/recorder.js";
import type { TracingClient } from "../dist/tracing/tape/recorder.js";
import { RunTree } from "../dist/tracing/runs/run-tree.js";
import type { Tape } from "../dist/tracing/tape/tape.js";
import { childrenPerTree, createPayloads } from "./workload.ts";
import type { Payload, SizeName } from "./workload.ts";

const tapeBytes = 1_048_576;
const noHiding = { hideInputs: false, hideOutputs: false, hideMetadata: false };

/** Takes the place of a client; `ship` gets the tapes. */
export class RecordingOnly implements TracingClient {
  readonly [recorder]: TracingClient[typeof recorder];

  constructor(ship: BatcherOptions["ship"], extras: Partial<BatcherOptions> = {}) {
    const batcher = new Batcher({
      tapeBytes,
      maxQueueBytes: 64 * tapeBytes,
      maxQueueRecords: 1_000_000,
      fieldBytes: 16 * tapeBytes,
      batchLimit: 100,
      firstDelayMs: 250,
      aggregationDelayMs: 50,
      slots: 16,
      filters: new PayloadFilters(noHiding, () => undefined),
      attachments: { attachmentBytes: 32 * tapeBytes, dangerouslyAllowFilesystem: false },
      ledger: new Ledger(() => undefined),
      overflow: "drop-newest",
      spill: (tape) => ({ delivered: 0, lost: tape.records }),
      ship,
      ...extras,
    });
    this[recorder] = {
      projectName: "bench",
      recursionLimit: 25,
      attachmentBytes: 32 * tapeBytes,
      isSampled: () => true,
      recordStart: (run) => batcher.record(encodeStart, run),
      recordEnd: (run) => batcher.record(encodeEnd, run),
      truncated: () => undefined,
      warn: () => undefined,
    };
  }

  createRun(): Promise<void> {
    return Promise.resolve();
  }

  updateRun(): Promise<void> {
    return Promise.resolve();
  }

  /** As `client.startRun`. */
  start(parent: RunTree | undefined, payload: Payload): RunTree {
    const { name, inputs, metadata } = payload;
    const runType: RunType = payload.runType;
    const run = new RunTree(
      { client: this, parent, recorded: true },
      { name, runType, inputs, metadata },
    );
    this[recorder].recordStart(run);
    return run;
  }

  /** A root and its children, each started and ended. */
  tree(next: () => Payload): void {
    const rootPayload = next();
    const root = this.start(undefined, rootPayload);
    for (let child = 0; child < childrenPerTree; child++) {
      const payload = next();
      this.start(root, payload).end(payload.outputs);
    }
    root.end(rootPayload.outputs);
  }
}

/** Goes round and round. */
export function cycle<Item>(items: readonly Item[]): () => Item {
  let index = 0;
  return () => {
    const item = items[index++ % items.length];
    if (item === undefined) {
      throw new RangeError("Nothing to go round");
    }
    return item;
  };
}

/** A tape that is kept is under way for ever. */
const never = (): void => undefined;

/** One full tape of a size's runs. */
export function recordTape(size: SizeName): Tape {
  const tapes: Tape[] = [];
  const client = new RecordingOnly((tape) => {
    tapes.push(tape);
    return new Promise(never);
  });
  const next = cycle(createPayloads(size));
  while (tapes.length === 0) {
    client.tree(next);
  }
  const [tape] = tapes;
  if (tape === undefined) {
    throw new RangeError("No tape was cut");
  }
  return tape;
}
