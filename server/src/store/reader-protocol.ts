import type { Readers } from "./store.ts";
import type { ThreadAnswer } from "../storage/thread-reply.ts";

/** A query under way to a reader thread; arguments and answer are plain data. */
export interface ReaderCall {
  readonly sequence: number;
  /** The query ends itself after this many milliseconds. */
  readonly withinMs: number;
  readonly resource: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** What a reader thread is started with. */
export interface ReaderData {
  /** The database file. */
  readonly path: string;
  /** One cell: anything but 0 ends the query at hand. */
  readonly ended: Int32Array<SharedArrayBuffer>;
}

export type ReaderMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "failedToStart"; readonly reason: string }
  /** Something that was read is not what was written. */
  | { readonly kind: "damaged"; readonly detail: string }
  | ThreadAnswer;

/** How much work a query may be: one is bounded by an index, the other grows with what is stored. */
export type QueryWeight = "quick" | "long";

type Rules = {
  readonly [Resource in keyof Readers]?: {
    readonly [Method in keyof Readers[Resource]]?: true | ((args: readonly unknown[]) => boolean);
  };
};

/** Members of a query that make an index of no avail, or not enough. */
const hasAny = (value: unknown, names: readonly string[]): boolean =>
  typeof value === "object" &&
  value !== null &&
  names.some((name) => {
    const member: unknown = Reflect.get(value, name);
    return member !== undefined && member !== null && member !== "";
  });

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

const isFiltered = ([, query]: readonly unknown[]): boolean =>
  hasAny(memberOf(query, "filter"), ["text", "runFilters", "rootFilter", "treeFilter"]);

/** A page far down a list, or out of the order of an index. */
const isFarOrFiltered = ([, query]: readonly unknown[]): boolean =>
  hasAny(memberOf(query, "filter"), ["splits", "metadata", "texts", "condition"]) ||
  memberOf(query, "order") === "random" ||
  Number(memberOf(query, "offset") ?? 0) > nearRows;

/** So many rows are skipped in a few milliseconds. */
const nearRows = 2_000;

/** Queries that take the longer the more is stored: they share threads of their own. */
const longQueries: Rules = {
  datasets: { diff: true, diffPage: true },
  examples: {
    count: true,
    listSplits: true,
    search: true,
    list: isFarOrFiltered,
    preview: isFarOrFiltered,
    page: ([, query]) => hasAny(query, ["splits", "metadata", "texts", "condition"]),
  },
  experiments: { compare: true },
  feedback: { statsOfFilter: true, statsOfProjectRuns: true },
  feedbackTrend: { read: true },
  runs: { statistics: true, query: isFiltered },
  runLists: { search: isFiltered, counts: true },
  storage: { use: true, projects: true },
};

export function weightOf(resource: string, method: string, args: readonly unknown[]): QueryWeight {
  const rules = longQueries[resource as keyof Readers] as
    | Readonly<Record<string, true | ((args: readonly unknown[]) => boolean)>>
    | undefined;
  const rule = rules?.[method];
  return rule === true || (typeof rule === "function" && rule(args)) ? "long" : "quick";
}

/**
 * Answered on the calling thread: one row by a unique index, needed before any request is let in. To ask
 * another thread would take ten times as long.
 */
const immediateQueries: readonly string[] = [
  "tenants.find",
  "tenants.findByKey",
  "tenants.hasKeys",
];

export const isImmediate = (resource: string, method: string): boolean =>
  resource === "tenants" && immediateQueries.includes(`${resource}.${method}`);
