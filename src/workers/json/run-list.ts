import { payloadFields } from "../../model/run.ts";
import type { Operation, PayloadField } from "../../model/run.ts";
import { toView } from "./ascii.ts";
import { appendOmittedEvents } from "./attachment-parts.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import type { RunJson } from "./run-json.ts";
import type { WasmJson } from "./wasm-json.ts";

const closeBrace = 0x7d;
const comma = 0x2c;

/** A payload field and its key in the JSON of a run, including the comma before it. */
interface FieldKey {
  readonly field: PayloadField;
  readonly key: DataView;
}

const fieldKeys: readonly FieldKey[] = payloadFields.map((field) => ({
  field,
  key: toView(`,"${field}":`),
}));

/** Writes the runs as one JSON object, `{"post":[…],"patch":[…]}`. */
export function writeBatch(out: JsonWriter, json: RunJson, runs: readonly RunOperation[]): void {
  const { wasm } = json;
  const wasmWriter = wasm?.begin(out, json.reader, runs) === true ? wasm : undefined;
  try {
    out.writeAscii('{"post":[');
    writeRunList(out, json, { runs, operation: "post", wasmWriter });
    out.writeAscii('],"patch":[');
    writeRunList(out, json, { runs, operation: "patch", wasmWriter });
    out.writeAscii("]}");
  } finally {
    wasmWriter?.end();
  }
}

/** Which runs are written, and how. */
interface RunList {
  readonly runs: readonly RunOperation[];
  /** Only runs with this operation are written. */
  readonly operation: Operation;
  /** The WebAssembly writer, if it can be used for this request. */
  readonly wasmWriter: WasmJson | undefined;
}

function writeRunList(
  out: JsonWriter,
  json: RunJson,
  { runs, operation, wasmWriter }: RunList,
): void {
  let needsComma = false;
  for (const run of runs) {
    if (run.operation !== operation) {
      continue;
    }
    if (wasmWriter?.canWrite(run) === true) {
      json.markWhileWriting(run, () => wasmWriter.writeRun(run, needsComma));
    } else {
      wasmWriter?.flush();
      if (needsComma) {
        out.writeByte(comma);
      }
      writeRun(out, json, run);
    }
    needsComma = true;
  }
  wasmWriter?.flush();
}

/** Writes one run as a JSON object. */
export function writeRun(out: JsonWriter, json: RunJson, run: RunOperation): void {
  json.markWhileWriting(run, () => {
    json.writeEnvelope(out, run);
    for (const key of fieldKeys) {
      writeField(out, json, run, key);
    }
    out.writeByte(closeBrace);
  });
}

// oxlint-disable-next-line max-params -- called for each field of each run
function writeField(
  out: JsonWriter,
  json: RunJson,
  run: RunOperation,
  { field, key }: FieldKey,
): void {
  if (hasFieldValue(json, run, field)) {
    out.writeLiteral(key);
    writeFieldValue(out, json, run, field);
  }
}

/** Whether the JSON of a run has this payload field. The events also state which attachments were left out. */
export const hasFieldValue = (json: RunJson, run: RunOperation, field: PayloadField): boolean =>
  json.hasField(run, field) || (field === "events" && run.attachments !== undefined);

/** Writes the value of a payload field. Call it only if {@link hasFieldValue} returns true for the field. */
// oxlint-disable-next-line max-params -- called for each field of each run
export function writeFieldValue(
  out: JsonWriter,
  json: RunJson,
  run: RunOperation,
  field: PayloadField,
): void {
  const start = out.length;
  if (json.hasField(run, field)) {
    json.writePayload(out, run, field);
  } else {
    out.writeAscii("[]");
  }
  if (field === "events" && run.attachments !== undefined) {
    appendOmittedEvents(out, start, run.attachments);
  }
}
