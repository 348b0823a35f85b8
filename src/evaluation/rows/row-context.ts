import { AsyncLocalStorage } from "node:async_hooks";
import type { CurrentRow } from "../evaluation.ts";

/** Returns the response to a request, either from a file or by calling `fetch`. */
interface RequestSender {
  send(
    fetch: typeof globalThis.fetch,
    args: Parameters<typeof globalThis.fetch>,
    context: RowContext | undefined,
  ): Promise<Response>;
}

/** The state of the row that is being evaluated, available in its target and its evaluators. */
export interface RowContext {
  readonly row: CurrentRow;
  /** Sends or replays the row's requests; `undefined` without the option `cache`. */
  readonly cache: RequestSender | undefined;
  readonly occurrences: Occurrences;
  /** Problems with the row's requests, which are added to the row's warnings. */
  readonly problems: Set<string>;
}

/** Numbers equal requests of one row, so that each has its own recorded response. */
export class Occurrences {
  readonly #counts = new Map<string, { highest: number; readonly free: number[] }>();

  /** Returns the lowest number, from 1, that no equal request of the row uses. */
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

  /**
   * Releases the number of a request whose response was not recorded, so that a retry of the request gets the same
   * number.
   */
  release(digest: string, occurrence: number): void {
    this.#counts.get(digest)?.free.push(occurrence);
  }
}

/** Creates the context for a row whose evaluation begins. */
export const createRowContext = (
  row: CurrentRow,
  cache: RequestSender | undefined,
): RowContext => ({ row, cache, occurrences: new Occurrences(), problems: new Set() });

/**
 * The context of the row that is being evaluated in the current asynchronous context. All copies of this package in a
 * process share it, because the command line has its own copy.
 */
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

/** Calls a function as part of a row: within it, {@link currentRow} returns the row. */
export const withRow = <Result>(row: CurrentRow, fn: () => Result): Result =>
  rowContexts.run(createRowContext(row, undefined), fn);

/** Returns the row that is being evaluated, within a target or an evaluator; `undefined` outside of them. */
export const currentRow = (): CurrentRow | undefined => rowContexts.getStore()?.row;
