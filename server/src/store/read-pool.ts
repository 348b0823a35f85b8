import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import type { ReadScope } from "../http/request-scope.ts";
import { determineWeight } from "./reader-protocol.ts";
import type { QueryWeight, ReaderQuery } from "./reader-protocol.ts";
import type { Readers } from "./repositories.ts";
import type { ResourceCall } from "../storage/thread-reply.ts";
import { TenantQueues } from "../storage/tenant-queues.ts";

interface PoolSizes {
  /** Number of reader threads. */
  readonly threadCount: number;
  /**
   * Maximum number of long queries that run at once. It is less than `threadCount`, so that long queries never occupy
   * all threads.
   */
  readonly maxLongQueries: number;
  /**
   * Maximum number of long queries of one tenant that run at once. It is less than `maxLongQueries`, so that one tenant
   * alone can't reach that limit.
   */
  readonly maxLongQueriesOfTenant: number;
  /** Maximum number of waiting queries of one tenant and one weight (quick or long); further queries are refused. */
  readonly maxWaitingQueries: number;
}

const defaultSizes: PoolSizes = {
  threadCount: serverLimits.readerThreads,
  maxLongQueries: serverLimits.longQueries,
  maxLongQueriesOfTenant: serverLimits.longQueriesOfTenant,
  maxWaitingQueries: serverLimits.waitingQueries,
};

/** A thread that runs queries, one at a time. */
export interface QueryThread {
  read(query: ReaderQuery): Promise<unknown>;
  /** Cancels the running query. */
  cancel(): void;
  close(): Promise<void>;
}

/** A query that waits or runs. */
interface Query {
  readonly call: ResourceCall<Readers>;
  readonly weight: QueryWeight;
  readonly tenantId: string;
  readonly deadlineMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (cause: Error) => void;
  /** The thread that runs the query; absent while the query waits. */
  thread?: QueryThread;
}

/**
 * Runs queries on a few threads. Long queries can use only some of the threads, and tenants take turns; quick queries
 * can use any thread. Each query has a deadline, which counts from its arrival.
 *
 * States of a query: waiting -> running -> settled. A query that exceeds its deadline, or whose client disconnected,
 * is settled at once; its thread becomes free when SQLite reads the next row.
 */
export class ReadPool {
  readonly #createThread: () => QueryThread;
  readonly #timeoutMs: number;
  readonly #sizes: PoolSizes;
  readonly #idle: QueryThread[] = [];
  readonly #threads: QueryThread[] = [];
  readonly #queues: { readonly [Weight in QueryWeight]: TenantQueues<Query> };
  /** The queries that wait or run. */
  readonly #open = new Set<Query>();
  readonly #longRunningByTenant = new Map<string, number>();
  #longRunning = 0;
  #isOpen = true;

  constructor(createThread: () => QueryThread, timeoutMs: number, sizes: PoolSizes = defaultSizes) {
    this.#createThread = createThread;
    this.#timeoutMs = timeoutMs;
    this.#sizes = sizes;
    this.#queues = { quick: new TenantQueues(), long: new TenantQueues() };
  }

  /**
   * Calls a method of a resource on a reader thread.
   *
   * @param scope - the tenant of the request, and whether its client is still connected
   * @throws RequestError 408: the deadline passed. 503: too many queries wait, or the server is closing.
   */
  read(call: ResourceCall<Readers>, scope?: ReadScope): Promise<unknown> {
    if (!this.#isOpen) {
      return Promise.reject(new RequestError(503, "the server is closing"));
    }
    const weight = determineWeight(call);
    const tenantId = scope?.tenantId ?? "";
    if (scope?.isClosed === true) {
      return Promise.reject(createAbortedError());
    }
    if (this.#queues[weight].countItems(tenantId) >= this.#sizes.maxWaitingQueries) {
      const detail = `${this.#sizes.maxWaitingQueries} queries are already waiting; retry later, or send fewer at once`;
      return Promise.reject(new RequestError(503, detail, 1));
    }
    return new Promise((resolve, reject) => {
      const cleanUp = (): void => {
        clearTimeout(timer);
        stopListening?.();
        this.#open.delete(query);
      };
      const query: Query = {
        call,
        weight,
        tenantId,
        deadlineMs: performance.now() + this.#timeoutMs,
        resolve: (value) => {
          cleanUp();
          resolve(value);
        },
        reject: (cause) => {
          cleanUp();
          reject(cause);
        },
      };
      const timer = setTimeout(
        () => this.#cancel(query, createTimeoutError(this.#timeoutMs)),
        this.#timeoutMs,
      );
      const stopListening = scope?.onClose(() => this.#cancel(query, createAbortedError()));
      this.#open.add(query);
      this.#queues[weight].add(tenantId, query);
      this.#dispatch();
    });
  }

  /** Cancels every query and refuses new ones. */
  cancelAll(): void {
    this.#isOpen = false;
    for (const query of this.#open) {
      this.#cancel(query, createAbortedError());
    }
  }

  /** Cancels every query, then ends the threads. */
  async close(): Promise<void> {
    this.cancelAll();
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #cancel(query: Query, cause: RequestError): void {
    if (!this.#open.has(query)) {
      return;
    }
    query.thread?.cancel();
    this.#queues[query.weight].remove(query.tenantId, query);
    query.reject(cause);
  }

  #dispatch(): void {
    for (;;) {
      const query = this.#takeNext();
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

  /** Removes the next query to run from its queue and returns it; returns `undefined` if no query can start now. */
  #takeNext(): Query | undefined {
    if (this.#idle.length === 0 && this.#threads.length >= this.#sizes.threadCount) {
      return undefined;
    }
    const quickQuery = this.#queues.quick.dequeue(() => true);
    if (quickQuery !== undefined || this.#longRunning >= this.#sizes.maxLongQueries) {
      return quickQuery;
    }
    const maxLongQueriesOfTenant = this.#sizes.maxLongQueriesOfTenant;
    return this.#queues.long.dequeue(
      (tenantId) => (this.#longRunningByTenant.get(tenantId) ?? 0) < maxLongQueriesOfTenant,
    );
  }

  async #run(query: Query, thread: QueryThread): Promise<void> {
    const { call, tenantId } = query;
    const longCount = query.weight === "long" ? 1 : 0;
    query.thread = thread;
    this.#countLong(tenantId, longCount);
    try {
      const withinMs = query.deadlineMs - performance.now();
      query.resolve(await thread.read({ ...call, withinMs }));
    } catch (cause) {
      query.reject(cause as Error);
    }
    delete query.thread;
    this.#countLong(tenantId, -longCount);
    this.#idle.push(thread);
    this.#dispatch();
  }

  #countLong(tenantId: string, change: number): void {
    const count = (this.#longRunningByTenant.get(tenantId) ?? 0) + change;
    this.#longRunning += change;
    if (count > 0) {
      this.#longRunningByTenant.set(tenantId, count);
    } else {
      this.#longRunningByTenant.delete(tenantId);
    }
  }
}

/** The error of a query that took too long. */
const createTimeoutError = (timeoutMs: number): RequestError =>
  new RequestError(
    408,
    `the query did not finish within ${timeoutMs} ms (queryTimeoutMs, or --query-timeout-ms) and was canceled: narrow it to a project, a shorter time range, or a search text of three letters or more`,
  );

/** The error of a query whose client disconnected, or that was canceled because the server is closing. */
const createAbortedError = (): RequestError =>
  new RequestError(
    503,
    "the query was canceled: its client disconnected, or the server is closing",
    1,
  );
