import { isUtf8 } from "node:buffer";
import type { Operation } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { joinChunks } from "../../bodies/read-body.ts";
import { releaseChunks } from "../../bodies/release-chunks.ts";
import { serverLimits } from "../../model/options.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import { getBatchWalk } from "./batch-walk.ts";
import { JsonCursor, JsonError, tooManyItems } from "../../bodies/json-cursor.ts";
import type { ParseRules } from "./parse-run.ts";
import { RunSource, SplitRun } from "./split-run.ts";
import { WalkedBatch } from "./walked-batch.ts";

/**
 * Parses the body of `POST /runs/batch`, given as chunks: in the WebAssembly module where possible, otherwise with
 * {@link parseBatch}. The result is the same. The chunks must not be read afterwards, since their memory may be
 * released.
 *
 * @throws RequestError the body is not a batch, or exceeds a limit.
 */
export const takeBatch = (chunks: readonly Buffer[]): ParsedBatch =>
  walkBatch(chunks) ?? parseBatch(joinChunks(chunks));

/**
 * Like {@link takeBatch}, in the WebAssembly module only. Returns `undefined` and leaves the chunks as they are
 * where the module can't parse the body.
 */
export function walkBatch(chunks: readonly Buffer[]): ParsedBatch | undefined {
  const walk = getBatchWalk();
  if (walk?.walk(chunks) !== true) {
    return undefined;
  }
  releaseChunks(chunks); // The module has its own copy.
  return new WalkedBatch(walk).build();
}

/**
 * Parses the body of `POST /runs/batch` in one pass. @throws RequestError the body is not a batch, or exceeds a
 * limit.
 */
export function parseBatch(body: Buffer): ParsedBatch {
  const lists = readBatch(body);
  const count = lists.post.length + lists.patch.length;
  if (count > serverLimits.operationsMax) {
    throw new RequestError(
      413,
      `${count} operations in one request; at most ${serverLimits.operationsMax} are allowed: send fewer per request`,
    );
  }
  const builder = new BatchBuilder(body.length);
  const rules = { place: "required" } as const;
  for (const operation of ["post", "patch"] as const) {
    for (const run of lists[operation]) {
      if (run === undefined) {
        builder.reject({ id: null, operation, reason: "a run must be a JSON object" });
      } else {
        const { members, values, rawMembers } = run;
        builder.addRun({ operation, members, values, rawMembers }, rules);
      }
    }
  }
  return builder.build();
}

/** The runs of each list; `undefined` for an item that is not an object. */
type Lists = Record<Operation, (SplitRun | undefined)[]>;

function readBatch(body: Buffer): Lists {
  const lists: Lists = { post: [], patch: [] };
  const source = new RunSource(body);
  const faults = new Map<string, RequestError>();
  readJson(body, (cursor) => {
    cursor.walk((start) =>
      cursor.walkObject(start, (name, from) => {
        if (name !== "post" && name !== "patch") {
          return cursor.skip(from);
        }
        // A later member replaces an earlier one of the same name.
        lists[name] = [];
        faults.delete(name);
        if (body[from] === openBracket) {
          return readList(cursor, { source, startOffset: from, into: lists[name] });
        }
        const to = cursor.skip(from);
        if (!body.subarray(from, to).equals(nullJson)) {
          faults.set(name, new RequestError(422, `${name} must be an array of runs`));
        }
        return to;
      }),
    );
  });
  for (const fault of faults.values()) {
    throw fault;
  }
  return lists;
}

interface List {
  readonly source: RunSource;
  readonly startOffset: number;
  readonly into: (SplitRun | undefined)[];
}

/** Nesting levels around a run and around the values of its members. They count towards the depth limit. */
const levelsAroundRun = 1;
const levelsAroundValue = 2;

function readList(cursor: JsonCursor, { source, startOffset, into }: List): number {
  return cursor.walkArray(startOffset, (start) => {
    // Checked before the run is created: a small body may contain millions of items.
    if (into.length === serverLimits.operationsMax) {
      throw tooManyItems(serverLimits.operationsMax);
    }
    if (source.bytes[start] !== openBrace) {
      into.push(undefined);
      return cursor.skip(start, levelsAroundRun);
    }
    const run = new SplitRun(source);
    into.push(run);
    return cursor.walkObject(start, (name, valueAt, nameAt) => {
      const to = cursor.skip(valueAt, levelsAroundValue);
      run.add(name, { nameAt, from: valueAt, to });
      return to;
    });
  });
}

/** Parses the body of a request for a single run. @throws RequestError the body is not a JSON object. */
export function parseOneRun(body: Buffer, operation: Operation, rules: ParseRules): ParsedBatch {
  const builder = new BatchBuilder(body.length + 64);
  builder.addRun({ operation, members: parseObject(body) }, rules);
  return builder.build();
}

function parseObject(body: Buffer): Map<string, Buffer> {
  return readJson(body, (cursor) => cursor.readMembers());
}

function readJson<Result>(body: Buffer, read: (cursor: JsonCursor) => Result): Result {
  if (!isUtf8(body)) {
    throw new RequestError(422, "the body is not UTF-8: send JSON in UTF-8");
  }
  try {
    return read(new JsonCursor(body));
  } catch (cause) {
    throw cause instanceof JsonError
      ? new RequestError(422, `the body is ${cause.message}`)
      : cause;
  }
}

const nullJson = Buffer.from("null");
const openBracket = 0x5b;
const openBrace = 0x7b;
