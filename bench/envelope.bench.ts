// Is a run's envelope (its JSON without payloads) written faster with fast-json-stringify or directly from the tape?
import fastJson from "fast-json-stringify";
import { microsToStamp, stampLength, stampToIso, uuidLength } from "../dist/model/dotted-order.js";
import { field, longestShortText, tag } from "../dist/model/records/tape-format.js";
import { JsonWriter } from "../dist/workers/json/json-writer.js";
import { joinRecords, findRecordWith } from "../dist/workers/json/operations.js";
import type { RunOperation } from "../dist/workers/json/operations.js";
import { RunJson } from "../dist/workers/json/run-json.js";
import { TapeReader } from "../dist/workers/json/tape-reader.js";
import { recordTape } from "./recording.ts";
import { publish } from "./results.ts";
import { timeVariants } from "./timing.ts";

interface Envelope {
  readonly id: string;
  readonly trace_id: string;
  readonly dotted_order: string;
  readonly parent_run_id: string | undefined;
  readonly start_time: string;
  readonly end_time: string | undefined;
  readonly name: string;
  readonly run_type: string;
  readonly session_name: string;
}

const stringType = { type: "string" } as const;
const stringify = fastJson({
  type: "object",
  additionalProperties: false,
  required: ["id", "trace_id", "dotted_order", "start_time", "name", "run_type", "session_name"],
  properties: {
    id: stringType,
    trace_id: stringType,
    dotted_order: stringType,
    parent_run_id: stringType,
    start_time: stringType,
    end_time: stringType,
    name: stringType,
    run_type: stringType,
    session_name: stringType,
  },
});

const { memory, usedBytes } = await recordTape("S");
const reader = new TapeReader(memory, usedBytes);
const runs = joinRecords(reader);
const json = new RunJson(reader, Buffer.from("{}"));
const buffer = Buffer.allocUnsafeSlow(4_194_304);

publish({
  script: "envelope",
  question: "Is an envelope written faster with fast-json-stringify or directly from the tape?",
  body: await timeVariants([
    {
      group: "envelope of a run",
      name: "fields to strings, fast-json-stringify, `Buffer.write`",
      times: runs.length,
      run: () => writeAll((run) => stringify(decode(run))),
    },
    {
      group: "envelope of a run",
      name: "fields to strings, `JSON.stringify`, `Buffer.write`",
      times: runs.length,
      run: () => writeAll((run) => JSON.stringify(decode(run))),
    },
    {
      group: "envelope of a run",
      name: "directly from the tape",
      times: runs.length,
      run: () => {
        const out = new JsonWriter(buffer);
        for (const run of runs) {
          json.writeEnvelope(out, run);
          out.writeByte(0x7d);
        }
      },
    },
  ]),
});

function writeAll(toEnvelope: (run: RunOperation) => string): void {
  let offset = 0;
  for (const run of runs) {
    offset += buffer.write(toEnvelope(run), offset);
  }
}

function decode(run: RunOperation): Envelope {
  const record = findRecordWith(reader, run, field.dottedOrder);
  const start = reader.findFieldStart(record, field.dottedOrder);
  const dottedOrder = reader.bytes.toString(
    "latin1",
    start,
    start + reader.findFieldLength(record, field.dottedOrder),
  );
  const ownSegment = dottedOrder.length - stampLength - uuidLength;
  const endRecord = findRecordWith(reader, run, field.endMicros);
  return {
    id: run.id,
    trace_id: dottedOrder.slice(stampLength, stampLength + uuidLength),
    dotted_order: dottedOrder,
    parent_run_id:
      ownSegment === 0 ? undefined : dottedOrder.slice(ownSegment - 1 - uuidLength, ownSegment - 1),
    start_time: stampToIso(dottedOrder.slice(ownSegment, ownSegment + stampLength)),
    end_time:
      endRecord === -1 ? undefined : readIsoTime(reader.findFieldStart(endRecord, field.endMicros)),
    name: readText(run, field.name),
    run_type: readText(run, field.runType),
    session_name: readText(run, field.project),
  };
}

function readIsoTime(offset: number): string {
  return stampToIso(microsToStamp(reader.view.getFloat64(offset, true)));
}

/** A field with a short text; empty if the run does not have the field. */
function readText(run: RunOperation, code: number): string {
  const record = findRecordWith(reader, run, code);
  if (record === -1) {
    return "";
  }
  const offset = reader.findFieldStart(record, code);
  const length = (reader.bytes[offset] ?? tag.shortText) & longestShortText;
  return reader.bytes.toString("utf8", offset + 1, offset + 1 + length);
}
