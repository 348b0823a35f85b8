import { Batcher } from "../../src/tracing/queue/batcher.ts";
import type { BatcherOptions } from "../../src/tracing/queue/batcher.ts";
import { PayloadFilters } from "../../src/tracing/tape/payload-filters.ts";
import { Ledger } from "../../src/tracing/queue/ledger.ts";
import type { TapeResult } from "../../src/tracing/queue/shipment.ts";
import type { Tape } from "../../src/tracing/tape/tape.ts";
import { JsonWriter } from "../../src/workers/json/json-writer.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import type { RunOperation } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { encodeWire } from "../../src/tracing/tape/record-encoder.ts";

/** A batcher whose tapes stay in flight until the test reports their outcomes. */
export interface TestBatcher {
  readonly batcher: Batcher;
  readonly ledger: Ledger;
  /** Tapes in flight, the oldest first. */
  readonly inFlight: readonly Tape[];
  /** The number of records of each tape that was moved to the spool. */
  readonly spilled: readonly number[];
  /** Flushes, and returns once the tapes are in flight. The flush ends at once if timers are real. */
  readonly send: () => Promise<void>;
  /** Settles the oldest tape in flight as delivered. */
  readonly deliver: () => Promise<void>;
  /** Records a run of about `bytes`; returns its id. */
  readonly record: (bytes?: number, inputs?: unknown) => string;
}

const limits = {
  tapeBytes: 4_096,
  maxQueueBytes: 65_536,
  maxQueueRecords: 1_000,
  fieldBytes: 1_048_576,
  batchLimit: 100,
  firstDelayMs: 250,
  aggregationDelayMs: 50,
  maxDelayMs: 1_000,
  maxTapesInFlight: 2,
  maxBytesInFlight: 65_536,
  overflow: "drop-newest",
} as const;

let serial = 0;

export function createTestBatcher(options: Partial<BatcherOptions> = {}): TestBatcher {
  const ledger = new Ledger(() => undefined);
  const inFlight: Tape[] = [];
  const spilled: number[] = [];
  const settle: ((result: TapeResult) => void)[] = [];
  const batcher = new Batcher({
    ...limits,
    filters: new PayloadFilters(
      { hideInputs: false, hideOutputs: false, hideMetadata: false },
      () => undefined,
    ),
    attachments: { attachmentBytes: 16_384, dangerouslyAllowFilesystem: false },
    ledger,
    spoolTape: (tape) => {
      spilled.push(tape.records);
      ledger.spooled += tape.records;
      return { delivered: 0, lost: tape.records };
    },
    sendTape: (tape) => {
      inFlight.push(tape);
      return new Promise((resolve) => {
        settle.push(resolve);
      });
    },
    ...options,
  });
  return {
    batcher,
    ledger,
    inFlight: inFlight,
    spilled,
    async send() {
      void batcher.flush(0);
      await Promise.resolve();
    },
    async deliver() {
      const tape = inFlight.shift();
      const { records = 0 } = tape ?? {};
      ledger.delivered += records;
      settle.shift()?.({ delivered: records, lost: 0 });
      await Promise.resolve();
      await Promise.resolve();
    },
    record(bytes = 10, inputs: unknown = { text: "x".repeat(bytes) }) {
      serial += 1;
      const id = `00000000-0000-7000-8000-${String(serial).padStart(12, "0")}`;
      const run = { name: "run", inputs: inputs as Record<string, unknown> };
      batcher.record(encodeWire, { operation: "post", id, run, projectName: "p" });
      return id;
    },
  };
}

/** The ids of a tape's runs, in the order of the tape. */
export function idsOf(tape: Tape): readonly string[] {
  const reader = new TapeReader(tape.memory, tape.usedBytes);
  return Array.from({ length: reader.count }, (_, record) => reader.readRunId(record));
}

/** The runs of a tape, as a batch request would hold them. */
export function runsOf(tape: Tape): readonly Record<string, unknown>[] {
  const reader = new TapeReader(tape.memory, tape.usedBytes);
  const json = new RunJson(reader, Buffer.from('{"sdk":"test"}'));
  return joinRecords(reader).map((run) => ({ ...parsed(json, run), operation: run.operation }));
}

function parsed(json: RunJson, run: RunOperation): Record<string, unknown> {
  const out = new JsonWriter(Buffer.alloc(64));
  json.writeEnvelope(out, run);
  for (const name of ["inputs", "outputs", "events", "error", "extra", "serialized"] as const) {
    if (json.hasField(run, name)) {
      out.writeAscii(`,"${name}":`);
      json.writePayload(out, run, name);
    }
  }
  return JSON.parse(`${out.bytes.toString("utf8", 0, out.length)}}`) as Record<string, unknown>;
}
