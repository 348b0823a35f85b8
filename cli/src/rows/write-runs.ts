import type { Run, RunField } from "millrace";

/**
 * The fields of a run that a file contains: what was recorded, and what the server computed from it. The project is
 * left out, so that the file can be uploaded to another project.
 */
export const writtenFields = [
  "id",
  "traceId",
  "parentRunId",
  "dottedOrder",
  "name",
  "runType",
  "startTime",
  "endTime",
  "status",
  "error",
  "tags",
  "inputs",
  "outputs",
  "extra",
  "events",
  "referenceExampleId",
  "promptTokens",
  "completionTokens",
  "totalTokens",
  "promptCost",
  "completionCost",
  "totalCost",
  "firstTokenTime",
  "feedbackStats",
] as const satisfies readonly RunField[];

/** Serializes runs as JSON Lines. The members have the names of the wire format, which an upload reads. */
export async function* writeRuns(runs: AsyncIterable<Run>): AsyncGenerator<string> {
  for await (const run of runs) {
    const members = writtenFields
      .filter((name) => run[name] !== undefined)
      .map((name) => [toWireName(name), run[name]] as const);
    yield `${JSON.stringify(Object.fromEntries(members))}\n`;
  }
}

/** Returns the name of a field in the wire format, such as `run_type` for `runType`. */
const toWireName = (name: (typeof writtenFields)[number]): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
