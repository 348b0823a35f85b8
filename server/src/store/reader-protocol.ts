import type { Readers } from "./repositories.ts";
import type { ResourceCall, ThreadReply } from "../storage/thread-reply.ts";
import type { TenantReads } from "../tenants/tenant.ts";

export type ReaderQuery = ResourceCall<Readers> & {
  /** The thread aborts the query after this many milliseconds. */
  readonly withinMs: number;
};

/** A query, with the sequence number that its reply repeats. */
export type ReaderCall = ReaderQuery & { readonly sequence: number };

/** The `workerData` of a reader thread. */
export interface ReaderData {
  /** The database file. */
  readonly path: string;
  /** One number, shared with the main thread. A value other than 0 cancels the running query. */
  readonly cancelFlag: Int32Array<SharedArrayBuffer>;
}

export type ReaderMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failedToStart"; readonly reason: string }
  /** Stored content did not match its checksum. */
  | { readonly kind: "damaged"; readonly detail: string }
  | ThreadReply;

/**
 * The cost of a query: an index bounds the cost of `quick` queries; the cost of `long` queries grows with the amount
 * of stored data.
 */
export type QueryWeight = "quick" | "long";

type LongQueryRules = {
  readonly [Resource in keyof Readers]?: {
    readonly [Method in keyof Readers[Resource]]?: true | ((args: readonly unknown[]) => boolean);
  };
};

/**
 * Returns whether any of the named members is set. The callers name members that make a query slow, because an index
 * helps such a query too little or not at all.
 */
const hasAnyMember = (value: unknown, names: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  names.some((name) => {
    const member: unknown = Reflect.get(value, name);
    return member !== undefined && member !== null && member !== "";
  });

const readMember = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

const isFiltered = ([, query]: readonly unknown[]): boolean =>
  hasAnyMember(readMember(query, "filter"), ["text", "runFilters", "rootFilter", "treeFilter"]);

/** Whether a list query skips many rows, sorts without an index, or filters. */
const isFarOrFiltered = ([, query]: readonly unknown[]): boolean =>
  hasAnyMember(readMember(query, "filter"), ["splits", "metadata", "texts", "condition"]) ||
  readMember(query, "order") === "random" ||
  Number(readMember(query, "offset") ?? 0) > maxQuickOffset;

/** The largest offset of a quick query: skipping this many rows takes a few milliseconds. */
const maxQuickOffset = 2_000;

/**
 * The methods whose queries take longer the more data is stored: `true` if all queries of the method do, otherwise a
 * function that decides by the arguments. These queries can use only some of the threads.
 */
const longQueries: LongQueryRules = {
  datasets: { diff: true, diffPage: true },
  examples: {
    count: true,
    listSplits: true,
    search: true,
    list: isFarOrFiltered,
    preview: isFarOrFiltered,
    page: ([, query]) => hasAnyMember(query, ["splits", "metadata", "texts", "condition"]),
  },
  experiments: { compare: true },
  feedback: { readStatsOfFilter: true, statsOfProjectRuns: true },
  feedbackTrend: { read: true },
  runs: { readStatistics: true, readProjectStatistics: true, query: isFiltered },
  runLists: { search: isFiltered, countRuns: true, countMatches: true },
  runPages: { query: isFiltered, search: isFiltered },
  metrics: { read: true, readOverview: true },
  threads: { list: true, readTurns: true },
  storage: { measure: true, listProjects: true, countRuns: true, measureRuns: true },
};

/** Returns whether a query is quick or long, which decides on which threads it may run. */
export function determineWeight({ resource, method, args }: ResourceCall<Readers>): QueryWeight {
  const rules = longQueries[resource] as
    | Readonly<Record<string, true | ((args: readonly unknown[]) => boolean)>>
    | undefined;
  const rule = rules?.[method];
  return rule === true || (typeof rule === "function" && rule(args)) ? "long" : "quick";
}

/**
 * Queries that authorize requests, so each request first waits for one of them. They run on the calling thread, because
 * each reads at most one row and calling another thread would take ten times as long.
 */
const immediateQueries: readonly (keyof TenantReads)[] = ["find", "findByKey", "hasKeys"];

/** Whether a query runs on the calling thread. */
export const isImmediate = (
  call: ResourceCall<Readers>,
): call is ResourceCall<Pick<Readers, "tenants">> =>
  call.resource === "tenants" && immediateQueries.includes(call.method);
