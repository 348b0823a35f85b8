import type { Operation } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { joinChunks } from "../../bodies/read-body.ts";
import { releaseChunks } from "../../bodies/release-chunks.ts";
import { serverLimits } from "../../model/options.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import { indexBatch, readJson } from "./batch-index.ts";
import type { BatchIndex } from "./batch-index.ts";
import { getBatchWalk } from "./batch-walk.ts";
import type { ParseRules } from "./parse-run.ts";
import { RunSplitter } from "./split-run.ts";
import { notAnObject, runField, wordsPerRun } from "./walk-layout.ts";
import type { FindMembers } from "../usage/run-measures.ts";

/**
 * Parses the body of `POST /runs/batch`, given as chunks. It is indexed in the WebAssembly module where possible,
 * otherwise in TypeScript. The chunks must not be read after the call, because their memory may be released.
 *
 * @throws RequestError the body is not a batch, or exceeds a limit.
 */
export const decodeBatch = (chunks: readonly Buffer[]): ParsedBatch =>
  walkBatch(chunks) ?? parseBatch(joinChunks(chunks));

/**
 * Like {@link decodeBatch}, but uses only the WebAssembly module. Returns `undefined` if the module can't index the
 * body; the chunks can then still be read.
 */
export function walkBatch(chunks: readonly Buffer[]): ParsedBatch | undefined {
  const batchWalk = getBatchWalk();
  const index = batchWalk?.walk(chunks);
  if (batchWalk === undefined || index === undefined) {
    return undefined;
  }
  releaseChunks(chunks); // The module has its own copy.
  // The next walk overwrites the index, so parse the runs before other requests are handled.
  return parseRuns(index, (json) => batchWalk.findMembers(json));
}

/** Parses the body of `POST /runs/batch` in TypeScript only. @throws RequestError see {@link decodeBatch}. */
export function parseBatch(body: Buffer): ParsedBatch {
  const index = indexBatch(body);
  const operationCount = index.lists.post.count + index.lists.patch.count;
  if (operationCount > serverLimits.operationsMax) {
    throw new RequestError(
      413,
      `${operationCount} operations in one request; at most ${serverLimits.operationsMax} are allowed: send fewer per request`,
    );
  }
  return parseRuns(index);
}

/** Parses the runs that an index lists. */
function parseRuns(index: BatchIndex, findMembers?: FindMembers): ParsedBatch {
  const builder = new BatchBuilder(index.body.length);
  const splitter = new RunSplitter(index, findMembers);
  for (const operation of ["post", "patch"] as const) {
    const { first, count } = index.lists[operation];
    for (let row = first; row < first + count; row += 1) {
      const firstMember = index.runs[row * wordsPerRun + runField.first] ?? notAnObject;
      const membersEnd = index.runs[row * wordsPerRun + runField.end] ?? notAnObject;
      if (firstMember === notAnObject) {
        builder.reject({ id: null, operation, reason: "a run must be a JSON object" });
      } else {
        builder.addRun(splitter.split(operation, firstMember, membersEnd), batchRules);
      }
    }
  }
  return builder.build();
}

const batchRules: ParseRules = { position: "required" };

/** Parses the body of a request for a single run. @throws RequestError the body is not a JSON object. */
export function parseOneRun(body: Buffer, operation: Operation, rules: ParseRules): ParsedBatch {
  const builder = new BatchBuilder(body.length + 64);
  const members = readJson(body, (cursor) => cursor.readMembers());
  builder.addRun({ operation, members }, rules);
  return builder.build();
}
