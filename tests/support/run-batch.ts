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

/** One record of a tape: the start or end of a root run, with the fields of the wire format. */
export interface TestRecord {
  readonly id: string;
  /** @defaultValue post */
  readonly operation?: Operation;
  readonly run?: WirePatch;
  /** Omits the dotted order, so that the run can't be sent in a batch. */
  readonly withoutDottedOrder?: boolean;
}

/** The run id that contains this number. */
export const runId = (number: number): string =>
  `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

/** The starts of `count` runs, with ids numbered from 1. */
export const manyRuns = (count: number, run: WirePatch = {}): readonly TestRecord[] =>
  Array.from({ length: count }, (_, index) => ({ id: runId(index + 1), run }));

/** A tape that contains these records. */
export function tapeOf(records: readonly TestRecord[]): Tape {
  const first = new Tape(64 * 1_048_576);
  const writer = new TapeWriter(first, () => {
    throw new RangeError("The test's records do not fit on its tape");
  });
  const nothingHidden = { hideInputs: false, hideOutputs: false, hideMetadata: false };
  const encoder = new RecordEncoder(writer, {
    filters: new PayloadFilters(nothingHidden, () => undefined),
    attachments: { attachmentBytes: 67_108_864, dangerouslyAllowFilesystem: true },
  });
  for (const { id, operation = "post", run = {}, withoutDottedOrder = false } of records) {
    const position = withoutDottedOrder
      ? {}
      : { dotted_order: `${microsToStamp(1_800_000_000_000_000)}${id}` };
    encoder.encodeWire({
      operation,
      id,
      run: { id, name: "run", ...position, ...run },
      projectName: "p",
    });
    writer.endRecord();
  }
  return writer.tape;
}

/** The batch that a worker creates from a tape with these records. */
export function batchOf(records: readonly TestRecord[], attachBytesFrom?: number): TapeBatch {
  const { memory, usedBytes } = tapeOf(records);
  const reader = new TapeReader(memory, usedBytes);
  const runtime = Buffer.from('{"sdk":"test"}');
  const wasm = WasmJson.create(runtime);
  const json = new RunJson(reader, runtime, { attachBytesFrom, wasm });
  return new TapeBatch(reader, json, joinRecords(reader));
}
