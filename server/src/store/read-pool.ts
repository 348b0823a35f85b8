import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import type { ReadScope } from "../runs/read-scope.ts";
import { weightOf } from "./reader-protocol.ts";
import type { QueryWeight } from "./reader-protocol.ts";
import type { ReaderQuery } from "./reader-thread.ts";
import { TenantQueues } from "../tenants/tenant-queues.ts";

/** Reader threads, and how many of them queries that take long may have. */
interface PoolSizes {
  readonly threads: number;
  /** Fewer than `threads`: a quick query never waits for long ones alone. */
  readonly longQueries: number;
  /** Fewer than `longQueries`: no tenant has them all. */
  readonly longQueriesOfTenant: number;
  /** Queries of one tenant and weight that wait; the next one is refused. */
  readonly waiting: number;
}

const usualSizes: PoolSizes = {
  threads: serverLimits.readerThreads,
  longQueries: serverLimits.longQueries,
  longQueriesOfTenant: serverLimits.longQueriesOfTenant,
  waiting: serverLimits.waitingQueries,
};

/** What answers queries, one at a time. */
export interface QueryThread {
  read(query: ReaderQuery): Promise<unknown>;
  /** Ends the query that is under way. */
  cancel(): void;
  close(): Promise<void>;
}

interface Query {
  readonly resource: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly weight: QueryWeight;
  readonly tenantId: string;
  readonly endsAt: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
  /** Present while a thread is at it. */
  thread?: QueryThread;
}

/**
 * Answers queries on a few threads. Those that may take long have some of the threads, shared by turns between
 * tenants; quick ones have any. Each query has a deadline, which counts from when it was asked.
 *
 * A query: waiting -> running -> settled. One that is past its deadline, or no longer wanted, is settled at once;
 * its thread is free again when SQLite has come to the next row.
 */
export class ReadPool {
  readonly #createThread: () => QueryThread;
  readonly #timeoutMs: number;
  readonly #sizes: PoolSizes;
  readonly #idle: QueryThread[] = [];
  readonly #threads: QueryThread[] = [];
  readonly #queues: { readonly [Weight in QueryWeight]: TenantQueues<Query> };
  /** What is waiting or running. */
  readonly #open = new Set<Query>();
  readonly #longOf = new Map<string, number>();
  #longRunning = 0;
  #isOpen = true;

  constructor(createThread: () => QueryThread, timeoutMs: number, sizes: PoolSizes = usualSizes) {
    this.#createThread = createThread;
    this.#timeoutMs = timeoutMs;
    this.#sizes = sizes;
    this.#queues = { quick: new TenantQueues(), long: new TenantQueues() };
  }

  /**
   * Calls a method of a resource on a reader thread.
   *
   * @throws RequestError 408: past the deadline. 503: too many wait, or the server is closing.
   */
  read(
    { resource, method, args }: Pick<Query, "resource" | "method" | "args">,
    scope?: ReadScope,
  ): Promise<unknown> {
    if (!this.#isOpen) {
      return Promise.reject(new RequestError(503, "the server is closing"));
    }
    const weight = weightOf(resource, method, args);
    const tenantId = scope?.tenantId ?? "";
    if (scope?.signal.aborted === true) {
      return Promise.reject(notWanted());
    }
    if (this.#queues[weight].countOf(tenantId) >= this.#sizes.waiting) {
      const detail = `${this.#sizes.waiting} queries wait already; ask again later, or fewer at once`;
      return Promise.reject(new RequestError(503, detail, 1));
    }
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        scope?.signal.removeEventListener("abort", onAbort);
        this.#open.delete(query);
      };
      const query: Query = {
        resource,
        method,
        args,
        weight,
        tenantId,
        endsAt: performance.now() + this.#timeoutMs,
        resolve: (value) => {
          settle();
          resolve(value);
        },
        reject: (cause) => {
          settle();
          reject(cause);
        },
      };
      const onAbort = (): void => this.#end(query, notWanted());
      const timer = setTimeout(
        () => this.#end(query, pastDeadline(this.#timeoutMs)),
        this.#timeoutMs,
      );
      scope?.signal.addEventListener("abort", onAbort, { once: true });
      this.#open.add(query);
      this.#queues[weight].add(tenantId, query);
      this.#dispatch();
    });
  }

  /** Ends every query; those that come later are refused. */
  end(): void {
    this.#isOpen = false;
    for (const query of this.#open) {
      this.#end(query, notWanted());
    }
  }

  /** Ends every query, then the threads. */
  async close(): Promise<void> {
    this.end();
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #end(query: Query, cause: RequestError): void {
    if (!this.#open.has(query)) {
      return;
    }
    query.thread?.cancel();
    this.#queues[query.weight].remove(query.tenantId, query);
    query.reject(cause);
  }

  #dispatch(): void {
    for (;;) {
      const query = this.#next();
      if (query === undefined) {
        return;
      }
      const thread = this.#idle.pop() ?? this.#createThread();
      if (!this.#threads.includes(thread)) {
        this.#threads.push(thread);
      }
      void this.#run(query, thread);
    }
  }

  /** The query whose turn it is; `undefined` where none may start. */
  #next(): Query | undefined {
    if (this.#idle.length === 0 && this.#threads.length >= this.#sizes.threads) {
      return undefined;
    }
    const quick = this.#queues.quick.take(() => true);
    if (quick !== undefined || this.#longRunning >= this.#sizes.longQueries) {
      return quick;
    }
    const most = this.#sizes.longQueriesOfTenant;
    return this.#queues.long.take((tenantId) => (this.#longOf.get(tenantId) ?? 0) < most);
  }

  async #run(query: Query, thread: QueryThread): Promise<void> {
    const { resource, method, args, tenantId } = query;
    const longCount = query.weight === "long" ? 1 : 0;
    query.thread = thread;
    this.#countLong(tenantId, longCount);
    try {
      const withinMs = query.endsAt - performance.now();
      query.resolve(await thread.read({ resource, method, args, withinMs }));
    } catch (cause) {
      query.reject(cause as Error);
    }
    delete query.thread;
    this.#countLong(tenantId, -longCount);
    this.#idle.push(thread);
    this.#dispatch();
  }

  #countLong(tenantId: string, change: number): void {
    const count = (this.#longOf.get(tenantId) ?? 0) + change;
    this.#longRunning += change;
    if (count > 0) {
      this.#longOf.set(tenantId, count);
    } else {
      this.#longOf.delete(tenantId);
    }
  }
}

/** The answer to a query that took too long. */
const pastDeadline = (timeoutMs: number): RequestError =>
  new RequestError(
    408,
    `the query did not end within ${timeoutMs} ms (queryTimeoutMs) and was ended: name a project, a shorter stretch of time, or a search text of three letters or more`,
  );

/** For a client that disconnected, which never receives it, or because the server is closing. */
const notWanted = (): RequestError =>
  new RequestError(503, "the query was ended: its client left, or the server is closing", 1);
