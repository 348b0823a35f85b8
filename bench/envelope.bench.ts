// Is a run's envelope written faster by fast-json-stringify or straight from the tape?
import fastJson from "fast-json-stringify";
import { microsToStamp, stampLength, stampToIso, uuidLength } from "../dist/model/dotted-order.js";
import { field, longestShortText, tag } from "../dist/model/records/tape-format.js";
import { JsonWriter } from "../dist/workers/json/json-writer.js";
import { joinRecords, recordWith } from "../dist/workers/json/operations.js";
import type { RunOperation } from "../dist/workers/json/operations.js";
import { RunJson } from "../dist/workers/json/run-json.js";
import { TapeReader } from "../dist/workers/json/tape-reader.js";
import { recordTape } from "./recording.ts";
import { publish } from "./results.ts";
import { timeWays } from "./timing.ts";

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

const text = { type: "string" } as const;
const stringify = fastJson({
  type: "object",
  additionalProperties: false,
  required: ["id", "trace_id", "dotted_order", "start_time", "name", "run_type", "session_name"],
  properties: {
    id: text,
    trace_id: text,
    dotted_order: text,
    parent_run_id: text,
    start_time: text,
    end_time: text,
    name: text,
    run_type: text,
    session_name: text,
  },
});

const { memory, used } = recordTape("S");
const reader = new TapeReader(memory, used);
const runs = joinRecords(reader);
const json = new RunJson(reader, Buffer.from("{}"));
const buffer = Buffer.allocUnsafeSlow(4_194_304);

publish({
  script: "envelope",
  question: "Is an envelope written faster by fast-json-stringify or straight from the tape?",
  body: await timeWays([
    {
      group: "envelope of a run",
      name: "fields to strings, fast-json-stringify, `Buffer.write`",
      times: runs.length,
      run: () => writeEach((run) => stringify(decode(run))),
    },
    {
      group: "envelope of a run",
      name: "fields to strings, `JSON.stringify`, `Buffer.write`",
      times: runs.length,
      run: () => writeEach((run) => JSON.stringify(decode(run))),
    },
    {
      group: "envelope of a run",
      name: "straight from the tape",
      times: runs.length,
      run: () => {
        const out = new JsonWriter(buffer);
        for (const run of runs) {
          json.envelope(out, run);
          out.byte(0x7d);
        }
      },
    },
  ]),
});

function writeEach(envelopeOf: (run: RunOperation) => string): void {
  let at = 0;
  for (const run of runs) {
    at += buffer.write(envelopeOf(run), at);
  }
}

function decode(run: RunOperation): Envelope {
  const record = recordWith(reader, run, field.dottedOrder);
  const start = reader.start(record, field.dottedOrder);
  const dotted = reader.bytes.toString(
    "latin1",
    start,
    start + reader.length(record, field.dottedOrder),
  );
  const ownAt = dotted.length - stampLength - uuidLength;
  const ended = recordWith(reader, run, field.endMicros);
  return {
    id: run.id,
    trace_id: dotted.slice(stampLength, stampLength + uuidLength),
    dotted_order: dotted,
    parent_run_id: ownAt === 0 ? undefined : dotted.slice(ownAt - 1 - uuidLength, ownAt - 1),
    start_time: stampToIso(dotted.slice(ownAt, ownAt + stampLength)),
    end_time: ended === -1 ? undefined : isoOf(reader.start(ended, field.endMicros)),
    name: textOf(run, field.name),
    run_type: textOf(run, field.runType),
    session_name: textOf(run, field.project),
  };
}

function isoOf(at: number): string {
  return stampToIso(microsToStamp(reader.view.getFloat64(at, true)));
}

/** A short text; empty where the run has none. */
function textOf(run: RunOperation, code: number): string {
  const record = recordWith(reader, run, code);
  if (record === -1) {
    return "";
  }
  const at = reader.start(record, code);
  const length = (reader.bytes[at] ?? tag.shortText) & longestShortText;
  return reader.bytes.toString("utf8", at + 1, at + 1 + length);
}
