import { microsToStamp } from "../../src/model/dotted-order.ts";
import type { Operation, WirePatch } from "../../src/model/run.ts";
import { PayloadFilters } from "../../src/tracing/tape/payload-filters.ts";
import { RecordEncoder } from "../../src/tracing/tape/record-encoder.ts";
import { Tape } from "../../src/tracing/tape/tape.ts";
import { TapeWriter } from "../../src/tracing/tape/tape-writer.ts";
import { joinRecords } from "../../src/workers/json/operations.ts";
import { RunJson } from "../../src/workers/json/run-json.ts";
import { TapeBatch } from "../../src/workers/sinks/tape-batch.ts";
import { TapeReader } from "../../src/workers/json/tape-reader.ts";
import { WasmJson } from "../../src/workers/json/wasm-json.ts";

/** One record of a tape: a root run's start or end, wire-shaped. */
export interface TestRecord {
  readonly id: string;
  /** @defaultValue post */
  readonly operation?: Operation;
  readonly run?: WirePatch;
  /** Leaves out the run's place in a trace, so that it can't go into a batch. */
  readonly isUnplaced?: boolean;
}

/** The id of the run of this number. */
export const runId = (number: number): string =>
  `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

/** Starts of so many runs, numbered from 1. */
export const manyRuns = (count: number, run: WirePatch = {}): readonly TestRecord[] =>
  Array.from({ length: count }, (_, index) => ({ id: runId(index + 1), run }));

/** A tape of these records. */
export function tapeOf(records: readonly TestRecord[]): Tape {
  const first = new Tape(64 * 1_048_576);
  const writer = new TapeWriter(first, () => {
    throw new RangeError("the test's records are larger than its tape");
  });
  const shown = { hideInputs: false, hideOutputs: false, hideMetadata: false };
  const encoder = new RecordEncoder(writer, {
    filters: new PayloadFilters(shown, () => undefined),
    attachments: { attachmentBytes: 67_108_864, dangerouslyAllowFilesystem: true },
  });
  for (const { id, operation = "post", run = {}, isUnplaced = false } of records) {
    const place = isUnplaced
      ? {}
      : { dotted_order: `${microsToStamp(1_800_000_000_000_000)}${id}` };
    encoder.wire({ operation, id, run: { id, name: "run", ...place, ...run }, projectName: "p" });
    writer.endRecord();
  }
  return writer.tape;
}

/** The batch of all these records, as a worker makes it of their tape. */
export function batchOf(records: readonly TestRecord[], attachBytesFrom?: number): TapeBatch {
  const { memory, used } = tapeOf(records);
  const reader = new TapeReader(memory, used);
  const runtime = Buffer.from('{"sdk":"test"}');
  const wasm = WasmJson.create(runtime);
  const json = new RunJson(reader, runtime, { attachBytesFrom, wasm });
  return new TapeBatch(reader, json, joinRecords(reader));
}
