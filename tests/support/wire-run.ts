import { runFields } from "../../src/model/resources/run-response.ts";
import type { Run } from "../../src/main/index.ts";
import type { WireRun } from "../../src/model/run.ts";

/** What the wire says as null where a run has none. */
const nullable = ["endTime", "outputs", "error", "parentRunId", "referenceExampleId"];

/** A run that was read back, in the words of the wire: for tests that compare it with what others sent. */
export function wireOf(run: Run): WireRun {
  const entries = Object.entries(runFields).map(([name, wireName]): [string, unknown] => {
    const value: unknown = Reflect.get(run, name);
    return [wireName, value ?? (nullable.includes(name) ? null : undefined)];
  });
  return Object.fromEntries(entries) as unknown as WireRun;
}
