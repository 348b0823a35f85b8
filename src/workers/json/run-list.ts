import { payloadFields } from "../../model/run.ts";
import type { Operation, PayloadField } from "../../model/run.ts";
import { literal } from "./ascii.ts";
import { addUnsent } from "./attachment-parts.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import type { RunJson } from "./run-json.ts";
import type { WasmJson } from "./wasm-json.ts";

const closeBrace = 0x7d;
const comma = 0x2c;

interface FieldKey {
  readonly field: PayloadField;
  readonly key: DataView;
}

const fieldKeys: readonly FieldKey[] = payloadFields.map((field) => ({
  field,
  key: literal(`,"${field}":`),
}));

/** Writes the runs as one JSON object, `{"post":[…],"patch":[…]}`. */
export function writeBatch(out: JsonWriter, json: RunJson, runs: readonly RunOperation[]): void {
  const { wasm } = json;
  const quick = wasm?.begin(out, json.reader, runs) === true ? wasm : undefined;
  try {
    out.ascii('{"post":[');
    runList(out, json, { runs, operation: "post", quick });
    out.ascii('],"patch":[');
    runList(out, json, { runs, operation: "patch", quick });
    out.ascii("]}");
  } finally {
    quick?.end();
  }
}

interface RunList {
  readonly runs: readonly RunOperation[];
  /** Those of them that are written. */
  readonly operation: Operation;
  readonly quick: WasmJson | undefined;
}

function runList(out: JsonWriter, json: RunJson, { runs, operation, quick }: RunList): void {
  let isNext = false;
  for (const run of runs) {
    if (run.operation !== operation) {
      continue;
    }
    if (quick?.takes(run) === true) {
      json.inHand(run, () => quick.run(run, isNext));
    } else {
      quick?.flush();
      if (isNext) {
        out.byte(comma);
      }
      writeRun(out, json, run);
    }
    isNext = true;
  }
  quick?.flush();
}

/** Writes one run as a JSON object. */
export function writeRun(out: JsonWriter, json: RunJson, run: RunOperation): void {
  json.inHand(run, () => {
    json.envelope(out, run);
    for (const key of fieldKeys) {
      writeField(out, json, run, key);
    }
    out.byte(closeBrace);
  });
}

// oxlint-disable-next-line max-params -- called for each field of each run
function writeField(
  out: JsonWriter,
  json: RunJson,
  run: RunOperation,
  { field, key }: FieldKey,
): void {
  const { attachments } = run;
  const isThere = json.has(run, field);
  const isMarked = field === "events" && attachments !== undefined;
  if (!isThere && !isMarked) {
    return;
  }
  out.literal(key);
  const start = out.length;
  if (isThere) {
    json.payload(out, run, field);
  } else {
    out.ascii("[]");
  }
  if (isMarked) {
    addUnsent(out, start, attachments);
  }
}
