/** The recording part of the SDK without delivery: it encodes runs onto tapes. */
import { setImmediate as nextTurn } from "node:timers/promises";
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
import { childrenPerTree } from "./workload.ts";
import type { Payload } from "./workload.ts";
import { workloads } from "./workloads.ts";
import type { WorkloadName } from "./workloads.ts";

const tapeBytes = 1_048_576;
const noFilters = { hideInputs: false, hideOutputs: false, hideMetadata: false };

/** A client that only records. It passes its tapes to `sendTape`. */
export class RecordingOnly implements TracingClient {
  readonly [recorder]: TracingClient[typeof recorder];

  constructor(sendTape: BatcherOptions["sendTape"], overrides: Partial<BatcherOptions> = {}) {
    const batcher = new Batcher({
      tapeBytes,
      maxQueueBytes: 64 * tapeBytes,
      maxQueueRecords: 1_000_000,
      fieldBytes: 16 * tapeBytes,
      batchLimit: 100,
      firstDelayMs: 250,
      aggregationDelayMs: 50,
      maxDelayMs: 1_000,
      maxTapesInFlight: 16,
      maxBytesInFlight: 32 * tapeBytes,
      filters: new PayloadFilters(noFilters, () => undefined),
      attachments: { attachmentBytes: 32 * tapeBytes, dangerouslyAllowFilesystem: false },
      ledger: new Ledger(() => undefined),
      overflow: "drop-newest",
      spoolTape: (tape) => ({ delivered: 0, lost: tape.records }),
      sendTape,
      ...overrides,
    });
    this[recorder] = {
      projectName: "bench",
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

  /** Starts a run as `client.startRun` does. */
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

  /** Records a root run with its children. */
  recordTree(nextPayload: () => Payload): void {
    const rootPayload = nextPayload();
    const root = this.start(undefined, rootPayload);
    for (let child = 0; child < childrenPerTree; child++) {
      const payload = nextPayload();
      this.start(root, payload).end(payload.outputs);
    }
    root.end(rootPayload.outputs);
  }
}

/** Returns a function that returns the items in turn, repeatedly. */
export function cycle<Item>(items: readonly Item[]): () => Item {
  let index = 0;
  return () => {
    const item = items[index++ % items.length];
    if (item === undefined) {
      throw new RangeError("There are no items to cycle through");
    }
    return item;
  };
}

/** Options with which a tape is sent when it is full, and not sooner. */
const onlyFullTapes = { batchLimit: 1_000_000, firstDelayMs: 60_000 };

/** For promises that never settle: the tape stays in flight, so it is not reused. */
const neverSettle = (): void => undefined;

/** Records runs of a workload until one tape is full, and returns that tape. */
export async function recordTape(workload: WorkloadName): Promise<Tape> {
  const tapes: Tape[] = [];
  const client = new RecordingOnly((tape) => {
    tapes.push(tape);
    return new Promise(neverSettle);
  }, onlyFullTapes);
  const nextPayload = cycle(workloads[workload].createPayloads());
  while (tapes.length === 0) {
    client.recordTree(nextPayload);
    // A full tape is sent in the turn after.
    await nextTurn();
  }
  const [tape] = tapes;
  if (tape === undefined) {
    throw new RangeError("No tape was cut");
  }
  return tape;
}
