import { isUtf8 } from "node:buffer";
import type { Operation } from "millrace/model";
import { RequestError } from "../../model/errors.ts";
import { joinPieces } from "../../bodies/read-body.ts";
import { releasePieces } from "../../bodies/release-pieces.ts";
import { serverLimits } from "../../model/options.ts";
import { BatchBuilder } from "./batch-builder.ts";
import type { ParsedBatch } from "./batch-builder.ts";
import { findWalk } from "./batch-walk.ts";
import { JsonCursor, JsonError, tooManyItems } from "../../bodies/json-cursor.ts";
import type { ParseRules } from "./parse-run.ts";
import { RunSource, SplitRun } from "./split-run.ts";
import { WalkedBatch } from "./walked-batch.ts";

/**
 * Takes the body of `POST /runs/batch` apart, given in pieces: by the module of WebAssembly where that can, else as
 * {@link parseBatch} does. What comes of it is the same. The pieces may be empty after it.
 *
 * @throws RequestError it is no batch, or holds too much.
 */
export const takeBatch = (pieces: readonly Buffer[]): ParsedBatch =>
  walkBatch(pieces) ?? parseBatch(joinPieces(pieces));

/** The same by the module alone; `undefined`, and the pieces are as they were, where it refuses the body. */
export function walkBatch(pieces: readonly Buffer[]): ParsedBatch | undefined {
  const walk = findWalk();
  if (walk?.walk(pieces) !== true) {
    return undefined;
  }
  releasePieces(pieces); // The module has a copy.
  return new WalkedBatch(walk).build();
}

/** Reads the body of `POST /runs/batch`, in one walk. @throws RequestError it is no batch, or holds too much. */
export function parseBatch(body: Buffer): ParsedBatch {
  const lists = readBatch(body);
  const count = lists.post.length + lists.patch.length;
  if (count > serverLimits.operationsMax) {
    throw new RequestError(
      413,
      `${count} operations in one request; at most ${serverLimits.operationsMax}: send fewer in one`,
    );
  }
  const builder = new BatchBuilder(body.length);
  const rules = { place: "required" } as const;
  for (const operation of ["post", "patch"] as const) {
    for (const run of lists[operation]) {
      if (run === undefined) {
        builder.reject({ id: null, operation, reason: "a run is a JSON object" });
      } else {
        const { members, values, kept } = run;
        builder.addRun({ operation, members, values, kept }, rules);
      }
    }
  }
  return builder.build();
}

/** The runs of each list; `undefined` for what is no object. */
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
        // Of equal names the last one counts.
        lists[name] = [];
        faults.delete(name);
        if (body[from] === openBracket) {
          return readList(cursor, { source, from, into: lists[name] });
        }
        const to = cursor.skip(from);
        if (!body.subarray(from, to).equals(nullJson)) {
          faults.set(name, new RequestError(422, `${name} is an array of runs`));
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
  readonly from: number;
  readonly into: (SplitRun | undefined)[];
}

/** Levels around a run, and around its members' values. */
const aroundRun = 1;
const aroundValue = 2;

function readList(cursor: JsonCursor, { source, from, into }: List): number {
  return cursor.walkArray(from, (start) => {
    // Before it is made: a small body may hold millions of them.
    if (into.length === serverLimits.operationsMax) {
      throw tooManyItems(serverLimits.operationsMax);
    }
    if (source.bytes[start] !== openBrace) {
      into.push(undefined);
      return cursor.skip(start, aroundRun);
    }
    const run = new SplitRun(source);
    into.push(run);
    return cursor.walkObject(start, (name, valueAt, nameAt) => {
      const to = cursor.skip(valueAt, aroundValue);
      run.put(name, { nameAt, from: valueAt, to });
      return to;
    });
  });
}

/** Reads the body of a one-run call. @throws RequestError it is no JSON object. */
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
