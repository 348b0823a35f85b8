import { stampLength, uuidLength } from "../../model/dotted-order.ts";
import type { PayloadField } from "../../model/run.ts";
import { field } from "../../model/records/tape-format.ts";
import { findRecordWith } from "./operations.ts";
import type { RunOperation } from "./operations.ts";
import type { TapeReader } from "./tape-reader.ts";

/** The payload fields that consist of one tagged value, and their field codes. */
export const payloadValues: Readonly<Record<Exclude<PayloadField, "extra">, number>> = {
  inputs: field.inputs,
  outputs: field.outputs,
  events: field.events,
  error: field.error,
  serialized: field.serialized,
};

/**
 * Returns the offset of the value of a payload field; `undefined` if the field's JSON is not
 * written from that value alone.
 */
export function findPayloadStart(
  reader: TapeReader,
  run: RunOperation,
  name: PayloadField,
): number | undefined {
  if (name === "extra" || run.withheldFields?.includes(name) === true) {
    return undefined;
  }
  const code = payloadValues[name];
  return reader.findFieldStart(findRecordWith(reader, run, code), code);
}

/** Returns the trace id of a run that can be part of a batch. */
export function readTraceId(reader: TapeReader, run: RunOperation): string {
  const record = findRecordWith(reader, run, field.dottedOrder);
  const start = reader.findFieldStart(record, field.dottedOrder) + stampLength;
  return reader.bytes.toString("latin1", start, start + uuidLength);
}
