import { isUtf8 } from "node:buffer";
import type { Operation } from "millrace/model";
import { expect } from "vitest";
import { RequestError } from "../../src/model/errors.ts";
import { serverLimits } from "../../src/model/options.ts";
import { BatchBuilder } from "../../src/runs/ingest/batch-builder.ts";
import type { ParsedBatch } from "../../src/runs/ingest/batch-builder.ts";
import { parseBatch, decodeBatch } from "../../src/runs/ingest/parse-batch.ts";
import { isObject } from "./oracle-values.ts";

/** The parsed runs, with their payloads as values; or the status and the beginning of the error's message. */
type Result = { readonly runs: unknown; readonly rejected: unknown } | { readonly error: string };

/**
 * Checks the result for a body against `JSON.parse`: which bodies are rejected and why, and for each run its columns,
 * its payload, or why it is rejected. Both ways to index a body must have this result.
 */
export function expectAsParsed(body: Buffer | string): void {
  const bytes = Buffer.from(body);
  const expected = expectedResult(bytes);
  expect(resultOf(() => decodeBatch(inChunks(bytes)))).toEqual(expected);
  expect(resultOf(() => parseBatch(bytes))).toEqual(expected);
}

/** Splits a body into chunks, because bodies arrive in chunks of the socket. */
function inChunks(body: Buffer): readonly Buffer[] {
  const middle = Math.floor(body.length / 3);
  return [body.subarray(0, middle), body.subarray(middle)];
}

function resultOf(parse: () => ParsedBatch): Result {
  try {
    return describeResult(parse());
  } catch (cause) {
    return { error: describeError(cause) };
  }
}

function expectedResult(body: Buffer): Result {
  if (!isUtf8(body)) {
    return { error: "422 the body is not UTF-8" };
  }
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return { error: "422 the body is not JSON" };
  }
  if (!isObject(value) || depthOf(value) > serverLimits.jsonDepth + 1) {
    return { error: "422 the body is not JSON" };
  }
  const lists = [value["post"] ?? [], value["patch"] ?? []];
  const [posts, patches] = lists;
  if (!Array.isArray(posts) || !Array.isArray(patches)) {
    return { error: `422 ${Array.isArray(posts) ? "patch" : "post"} must be an array of runs` };
  }
  if (Math.max(posts.length, patches.length) > serverLimits.operationsMax) {
    return { error: `413 more than ${serverLimits.operationsMax} items in one list` };
  }
  if (posts.length + patches.length > serverLimits.operationsMax) {
    return { error: `413 ${posts.length + patches.length} operations in one request` };
  }
  const builder = new BatchBuilder();
  posts.forEach((run: unknown) => addRun(builder, "post", run));
  patches.forEach((run: unknown) => addRun(builder, "patch", run));
  return describeResult(builder.build());
}

function addRun(builder: BatchBuilder, operation: Operation, run: unknown): void {
  if (!isObject(run)) {
    builder.reject({ id: null, operation, reason: "a run must be a JSON object" });
    return;
  }
  const members = new Map(
    Object.entries(run).map(([name, value]) => [name, Buffer.from(JSON.stringify(value))]),
  );
  builder.addRun({ operation, members }, { position: "required" });
}

const describeResult = ({ batch, rejected }: ParsedBatch): Result => ({
  rejected,
  runs: batch.records.map(({ bodyStart, bodyEnd, digest, ...record }) => {
    const payload: unknown = JSON.parse(
      Buffer.from(batch.bodies).toString("utf8", bodyStart, bodyEnd),
      // The server keeps a number that no double can hold, such as 1e400, as it was sent; `JSON.stringify` writes null.
      (_name, value: unknown) =>
        typeof value === "number" && !Number.isFinite(value) ? null : value,
    );
    // Whether a name is also part of the payload depends on how it was escaped.
    const { name: _name, ...others } = payload as Readonly<Record<string, unknown>>;
    return { ...record, hasDigest: digest !== "", payload: sortedEntries(others) };
  }),
});

const sortedEntries = (object: object): readonly unknown[] =>
  Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** The status and the beginning of the message, without positions and what to do. */
function describeError(cause: unknown): string {
  if (!(cause instanceof RequestError)) {
    throw cause;
  }
  return `${cause.status} ${cause.message.split(/[:;]/, 1)[0]}`;
}

/** Nesting of arrays and objects, the body included. An empty one does not count as a level. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value]; ; depth += 1) {
    level = level.flatMap((item) =>
      typeof item === "object" && item !== null ? (Object.values(item) as unknown[]) : [],
    );
    if (level.length === 0) {
      return depth;
    }
  }
}
