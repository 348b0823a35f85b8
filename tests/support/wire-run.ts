import { runFields } from "../../src/model/resources/run-response.ts";
import type { Run } from "../../src/main/index.ts";
import type { WireRun } from "../../src/model/run.ts";

/** Fields that are null in the wire format, but absent in a `Run`, when they have no value. */
const nullable = ["endTime", "outputs", "error", "parentRunId", "referenceExampleId"];

/** Converts a `Run` to the field names of the wire format, for comparison with what other clients sent. */
export function toWireRun(run: Run): WireRun {
  const entries = Object.entries(runFields).map(([name, wireName]): [string, unknown] => {
    const value: unknown = Reflect.get(run, name);
    return [wireName, value ?? (nullable.includes(name) ? null : undefined)];
  });
  return Object.fromEntries(entries) as unknown as WireRun;
}
