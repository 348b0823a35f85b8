import { stampLength, uuidLength } from "../../model/dotted-order.ts";
import type { PayloadField } from "../../model/run.ts";
import { field } from "../../model/records/tape-format.ts";
import { recordWith } from "./operations.ts";
import type { RunOperation } from "./operations.ts";
import type { TapeReader } from "./tape-reader.ts";

/** The payload fields that are one tagged value each, and their codes. */
export const payloadValues: Readonly<Record<Exclude<PayloadField, "extra">, number>> = {
  inputs: field.inputs,
  outputs: field.outputs,
  events: field.events,
  error: field.error,
  serialized: field.serialized,
};

/** Where the value of a payload field begins; `undefined` where the field's JSON is not written from that value alone. */
export function payloadStart(
  reader: TapeReader,
  run: RunOperation,
  name: PayloadField,
): number | undefined {
  if (name === "extra" || run.withheld?.includes(name) === true) {
    return undefined;
  }
  const code = payloadValues[name];
  return reader.start(recordWith(reader, run, code), code);
}

/** The id of the trace of a run that goes into batches. */
export function traceIdOf(reader: TapeReader, run: RunOperation): string {
  const record = recordWith(reader, run, field.dottedOrder);
  const start = reader.start(record, field.dottedOrder) + stampLength;
  return reader.bytes.toString("latin1", start, start + uuidLength);
}
