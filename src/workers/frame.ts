import { randomBytes } from "node:crypto";
import { payloadFields } from "../model/run.ts";
import type { JsonWriter } from "./json-writer.ts";
import type { RunOperation } from "./operations.ts";
import type { RunJson } from "./run-json.ts";
import { formatPartName } from "./wire.ts";
import type { PartName } from "./wire.ts";

/** How the runs of a request are written: parts, one JSON object, or one run alone. */
export type FrameFormat = "multipart" | "batch" | "single";

/**
 * Between parts. JSON text holds no raw line end, so no payload can hold `CRLF--boundary`;
 * it is random all the same.
 */
const boundary = `millrace-${randomBytes(12).toString("hex")}`;

export const contentTypes: Readonly<Record<FrameFormat, string>> = {
  multipart: `multipart/form-data; boundary=${boundary}`,
  batch: "application/json",
  single: "application/json",
};

const lineEnd = "\r\n";
const closeBrace = 0x7d;
const comma = 0x2c;

/** Writes the body of a request for these runs. */
export function frameRuns(
  out: JsonWriter,
  json: RunJson,
  runs: readonly RunOperation[],
  format: FrameFormat,
): void {
  switch (format) {
    case "multipart":
      for (const run of runs) {
        runParts(out, json, run);
      }
      out.ascii(`--${boundary}--${lineEnd}`);
      break;
    case "batch":
      out.ascii('{"post":[');
      runList(
        out,
        json,
        runs.filter(({ operation }) => operation === "post"),
      );
      out.ascii('],"patch":[');
      runList(
        out,
        json,
        runs.filter(({ operation }) => operation === "patch"),
      );
      out.ascii("]}");
      break;
    case "single":
      for (const run of runs) {
        wholeRun(out, json, run);
      }
      break;
  }
}

function runParts(out: JsonWriter, json: RunJson, run: RunOperation): void {
  const { operation, id: runId } = run;
  part(out, { kind: "run", operation, runId }, 400, () => {
    json.envelope(out, run);
    out.byte(closeBrace);
  });
  for (const field of payloadFields) {
    if (json.has(run, field)) {
      part(out, { kind: "field", operation, runId, field }, json.estimate(run, field), () =>
        json.payload(out, run, field),
      );
    }
  }
}

/** One part. Its length stands before it and is known after it: the digits are guessed, and mended. */
function part(out: JsonWriter, name: PartName, estimate: number, writeBody: () => void): void {
  out.ascii(
    `--${boundary}${lineEnd}Content-Disposition: form-data; name="${formatPartName(name)}"${lineEnd}` +
      "Content-Type: application/json; length=",
  );
  const digitsAt = out.length;
  const guess = String(estimate).length;
  out.ascii("0".repeat(guess) + lineEnd + lineEnd);
  const bodyAt = out.length;
  writeBody();
  const digits = String(out.length - bodyAt);
  const shift = digits.length - guess;
  if (shift !== 0) {
    out.room(Math.max(shift, 0));
    out.bytes.copyWithin(digitsAt + digits.length, digitsAt + guess, out.length);
    out.length += shift;
  }
  out.bytes.write(digits, digitsAt, "latin1");
  out.ascii(lineEnd);
}

function runList(out: JsonWriter, json: RunJson, runs: readonly RunOperation[]): void {
  runs.forEach((run, index) => {
    if (index > 0) {
      out.byte(comma);
    }
    wholeRun(out, json, run);
  });
}

function wholeRun(out: JsonWriter, json: RunJson, run: RunOperation): void {
  json.envelope(out, run);
  for (const field of payloadFields) {
    if (json.has(run, field)) {
      out.ascii(`,"${field}":`);
      json.payload(out, run, field);
    }
  }
  out.byte(closeBrace);
}
