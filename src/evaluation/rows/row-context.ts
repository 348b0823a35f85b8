import { AsyncLocalStorage } from "node:async_hooks";
import type { CurrentRow } from "../evaluation.ts";

/** Returns the responses to requests: from files, or from a `fetch`. */
interface RequestSender {
  send(
    fetch: typeof globalThis.fetch,
    args: Parameters<typeof globalThis.fetch>,
    context: RowContext | undefined,
  ): Promise<Response>;
}

/** What belongs to the row that is being evaluated, within its target and its evaluators. */
export interface RowContext {
  readonly row: CurrentRow;
  /** Returns the responses to the row's requests. */
  readonly cache: RequestSender | undefined;
  readonly occurrences: Occurrences;
  /** What became of the row's requests, for the row's warnings. */
  readonly problems: Set<string>;
}

/** Counts equal requests of one row, so that each has its own response. */
export class Occurrences {
  readonly #counts = new Map<string, { highest: number; readonly free: number[] }>();

  /** Returns the lowest number, counted from 1, that no equal request of the row has. */
  take(digest: string): number {
    const count = this.#counts.get(digest) ?? { highest: 0, free: [] };
    this.#counts.set(digest, count);
    if (count.free.length === 0) {
      count.highest += 1;
      return count.highest;
    }
    const lowest = Math.min(...count.free);
    count.free.splice(count.free.indexOf(lowest), 1);
    return lowest;
  }

  /** Releases a number whose request got no recorded response, so that the repeated request has the same number. */
  release(digest: string, occurrence: number): void {
    this.#counts.get(digest)?.free.push(occurrence);
  }
}

export const createRowContext = (
  row: CurrentRow,
  cache: RequestSender | undefined,
): RowContext => ({ row, cache, occurrences: new Occurrences(), problems: new Set() });

/** The row that the current code is part of. Copies of this package share it: the command line has one of its own. */
export const rowContexts = findRowContexts();

function findRowContexts(): AsyncLocalStorage<RowContext> {
  const key = Symbol.for("millrace.evaluation.rows");
  const shared: unknown = Reflect.get(globalThis, key);
  if (shared instanceof AsyncLocalStorage) {
    return shared as AsyncLocalStorage<RowContext>;
  }
  const storage = new AsyncLocalStorage<RowContext>();
  Reflect.set(globalThis, key, storage);
  return storage;
}

/** Calls a function for a row, which {@link currentRow} then returns. */
export const withRow = <Result>(row: CurrentRow, fn: () => Result): Result =>
  rowContexts.run(createRowContext(row, undefined), fn);

/** Returns the row that is being evaluated, within a target or an evaluator; `undefined` outside of them. */
export const currentRow = (): CurrentRow | undefined => rowContexts.getStore()?.row;
