import type { CheckedFilter } from "../filter/checker.ts";
import type { RunFile, RunPart, StoredRun } from "./run-row.ts";
import type { UsageName } from "./usage-sources.ts";

/** Which runs are meant. Every filter that is given must hold; lists mean any of. */
export interface RunFilter {
  readonly projectIds?: readonly string[];
  readonly ids?: readonly string[];
  readonly traceId?: string;
  readonly parentRunId?: string;
  readonly runType?: string;
  readonly referenceExampleIds?: readonly string[];
  readonly isRoot?: boolean;
  readonly hasError?: boolean;
  /** Started at or after. */
  readonly startMicros?: number;
  /** Started at or before. */
  readonly endMicros?: number;
  /** A part of the name or of the payload's JSON text; ASCII letters in either case. */
  readonly text?: string;
  /** Filters of the filter language that the run itself meets. */
  readonly runFilters?: readonly CheckedFilter[];
  /** What the root of its trace meets. */
  readonly rootFilter?: CheckedFilter;
  /** What any run of its trace meets, itself among them. */
  readonly treeFilter?: CheckedFilter;
}

/** Where a page ended: the next one begins after this run. */
export interface RunPosition {
  readonly startMicros: number;
  readonly id: string;
}

export interface RunQuery {
  readonly filter: RunFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Bytes of payloads after which no further run is read: the page then has fewer than its limit. */
  readonly bytesMax?: number;
  readonly after?: RunPosition;
  /** Whether descendants are listed too; costs a look-up for each run. */
  readonly withChildren: boolean;
  /**
   * What else is read of each run, beside its id and its start; all of it where left out. What is not asked
   * for is empty: `""`, 0, `false`, `null` or no items.
   */
  readonly parts?: ReadonlySet<RunPart>;
}

export interface RunPage {
  readonly runs: readonly StoredRun[];
  /** Present when more follow. */
  readonly next?: RunPosition;
}

/** A number that runs have, over those that have it. */
export interface Distribution {
  readonly count: number;
  readonly sum: number;
  /** `null` where no run has it. */
  readonly p50: number | null;
  readonly p99: number | null;
}

/** Durations in microseconds. Usage is that of runs of type `llm`. */
export interface RunStatistics extends Readonly<Record<UsageName, Distribution>> {
  readonly runCount: number;
  readonly errorCount: number;
  readonly lastStartMicros: number | null;
  /** Of runs that have ended. */
  readonly latency: Distribution;
  /** From the start of a run that streams to its first token. */
  readonly firstToken: Distribution;
}

export interface RunReads {
  find(tenantId: string, id: string): StoredRun | undefined;
  query(tenantId: string, query: RunQuery): RunPage;
  statistics(tenantId: string, filter: RunFilter): RunStatistics;
  /** The run that the token is of, or the root of the trace that it is of: its holder may read that. */
  findShared(token: string): StoredRun | undefined;
  /** The bytes of an attachment; the address that leads here was signed. */
  findFile(
    tenantId: string,
    file: RunFile,
  ): { readonly mimeType: string; readonly bytes: Uint8Array } | undefined;
}

export interface RunWrites {
  /**
   * The token under which anyone may read the run; the same one when repeated.
   *
   * @throws RequestError 404: no such run.
   */
  share(tenantId: string, id: string): string;
  unshare(tenantId: string, id: string): void;
}
