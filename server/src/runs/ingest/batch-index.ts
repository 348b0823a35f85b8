import { isUtf8 } from "node:buffer";
import { payloadFields } from "millrace/model";
import type { Operation } from "millrace/model";
import { JsonCursor, JsonError, createTooManyItemsError } from "../../bodies/json-cursor.ts";
import { RequestError } from "../../model/errors.ts";
import { serverLimits } from "../../model/options.ts";
import { columnNames } from "./run-members.ts";
import { wordsPerMember, notAnObject, wordsPerRun } from "./walk-layout.ts";

/**
 * The positions of a batch's runs, and of the members of these runs, in the request body. `runs` and `members` are
 * tables whose numbers are stored row by row; `walk-layout.ts` describes their columns.
 */
export interface BatchIndex {
  readonly body: Buffer;
  /** Names of members. A member's code is the index of its name. */
  readonly names: readonly string[];
  readonly runs: ArrayLike<number>;
  readonly members: ArrayLike<number>;
  readonly lists: Readonly<Record<Operation, RunRange>>;
}

/** Consecutive rows of the table of runs. */
export interface RunRange {
  readonly first: number;
  readonly count: number;
}

/** The member names that have the same code (index in `names`) for every batch. */
export const knownNames: readonly string[] = [...columnNames, ...payloadFields, "tags"];

/**
 * Indexes the body of `POST /runs/batch` in TypeScript. Used for bodies that the WebAssembly module can't index, and
 * for bodies that are not a batch.
 *
 * @throws RequestError the body is not a batch, or exceeds a limit.
 */
export function indexBatch(body: Buffer): BatchIndex {
  const table = new IndexTable(body);
  const errorsByListName = new Map<string, RequestError>();
  readJson(body, (cursor) => {
    cursor.walk((start) =>
      cursor.walkObject(start, (name, valueStart) => {
        if (name !== "post" && name !== "patch") {
          return cursor.skip(valueStart);
        }
        // A later member replaces an earlier member of the same name.
        errorsByListName.delete(name);
        table.beginList(name);
        if (body[valueStart] === openBracket) {
          return table.addList(cursor, name, valueStart);
        }
        const valueEnd = cursor.skip(valueStart);
        if (!body.subarray(valueStart, valueEnd).equals(nullJson)) {
          errorsByListName.set(name, new RequestError(422, `${name} must be an array of runs`));
        }
        return valueEnd;
      }),
    );
  });
  for (const listError of errorsByListName.values()) {
    throw listError;
  }
  return table;
}

/** Nesting levels around a run and around the values of its members. They count towards the depth limit. */
const levelsAroundRun = 1;
const levelsAroundValue = 2;

class IndexTable implements BatchIndex {
  readonly body: Buffer;
  readonly names: string[] = [...knownNames];
  readonly runs: number[] = [];
  readonly members: number[] = [];
  readonly lists: Record<Operation, RunRange> = { post: noRuns, patch: noRuns };
  readonly #codes = new Map(knownNames.map((name, code) => [name, code]));

  constructor(body: Buffer) {
    this.body = body;
  }

  beginList(name: Operation): void {
    this.lists[name] = noRuns;
  }

  /** Adds the runs of the list at `listStart`. Returns the position after the list. */
  addList(cursor: JsonCursor, name: Operation, listStart: number): number {
    const firstRunRow = this.runs.length / wordsPerRun;
    let count = 0;
    const listEnd = cursor.walkArray(listStart, (start) => {
      // Check before adding the run: a small body may contain millions of items.
      if (count === serverLimits.operationsMax) {
        throw createTooManyItemsError(serverLimits.operationsMax);
      }
      count += 1;
      if (this.body[start] === openBrace) {
        return this.#addRun(cursor, start);
      }
      this.runs.push(notAnObject, notAnObject);
      return cursor.skip(start, levelsAroundRun);
    });
    this.lists[name] = { first: firstRunRow, count };
    return listEnd;
  }

  #addRun(cursor: JsonCursor, start: number): number {
    const firstMemberRow = this.members.length / wordsPerMember;
    const runEnd = cursor.walkObject(start, (name, valueStart, nameStart) => {
      const valueEnd = cursor.skip(valueStart, levelsAroundValue);
      // The code already identifies the name, so the position where the name ends is not needed.
      this.members.push(this.#assignCode(name), nameStart, nameStart, valueStart, valueEnd);
      return valueEnd;
    });
    this.runs.push(firstMemberRow, this.members.length / wordsPerMember);
    return runEnd;
  }

  #assignCode(name: string): number {
    const code = this.#codes.get(name) ?? this.names.length;
    if (code === this.names.length) {
      this.names.push(name);
      this.#codes.set(name, code);
    }
    return code;
  }
}

const noRuns: RunRange = { first: 0, count: 0 };

/**
 * Reads a JSON body with a cursor.
 *
 * @throws RequestError 422: the body is not JSON, or not UTF-8.
 */
export function readJson<Result>(body: Buffer, read: (cursor: JsonCursor) => Result): Result {
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
