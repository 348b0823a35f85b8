import type { RunSearch, SearchSlice } from "../run-list.ts";
import type { PageView, RunPageReads, TraceLine } from "../run-pages.ts";
import type { RunQuery } from "../run-query.ts";
import type { RunFile } from "../run-row.ts";
import type { RunReaders } from "../run-store.ts";
import type { Promised } from "../../storage/promised.ts";
import type { TraceQuery, TraceUsage } from "../trace.ts";
import { toCursor } from "../run-cursor.ts";
import type { FeedbackStats } from "../run-feedback.ts";
import { createLink } from "../../http/signed-links.ts";
import { findRequiredParts, toPageJson } from "./run-json.ts";
import { createListView, toListItem } from "./run-list-json.ts";
import { toTraceJson } from "./trace-json.ts";

/** The readers of runs of any engine. Those of SQLite return their results at once. */
type AnyRunReaders = RunReaders | Promised<RunReaders>;

/** Reads pages of runs and writes them as JSON, on a reader thread. */
export class RunPageReader implements RunPageReads {
  readonly #readers: AnyRunReaders;
  readonly #checkLimit: () => void;

  /**
   * @param checkLimit - throws if the query has exceeded its limits. It is called every few runs, because writing
   * long payloads takes time, too.
   */
  constructor(readers: AnyRunReaders, checkLimit: () => void) {
    this.#readers = readers;
    this.#checkLimit = checkLimit;
  }

  async query(
    tenantId: string,
    query: RunQuery,
    { select, signer }: PageView,
  ): Promise<Uint8Array> {
    const { runs, nextPosition } = await this.#readers.runs.query(tenantId, {
      ...query,
      ...(select === undefined ? {} : { parts: findRequiredParts(select) }),
    });
    const feedbackStatsByRun =
      select === undefined || select.has("feedback_stats")
        ? await this.#readFeedbackStats(tenantId, runs)
        : noStats;
    const view = {
      select,
      names: [],
      link: (file: RunFile) => createLink(signer, { kind: "run", tenantId, ...file }),
    };
    return toPageJson(runs, {
      selectView: ({ row }) => {
        const feedbackStats = feedbackStatsByRun.get(row.id);
        return feedbackStats === undefined ? view : { ...view, feedbackStats };
      },
      next: nextPosition === undefined ? null : toCursor(nextPosition, query.order),
      checkLimit: this.#checkLimit,
    });
  }

  async search(
    tenantId: string,
    search: RunSearch,
    select: ReadonlySet<string>,
  ): Promise<SearchSlice<string>> {
    const view = createListView(select);
    const { parts } = view;
    const { runs, ...position } = await this.#readers.runLists.search(tenantId, {
      ...search,
      parts,
    });
    const feedbackStatsByRun = select.has("feedback_stats")
      ? await this.#readFeedbackStats(tenantId, runs)
      : noStats;
    const usageByTrace = select.has("trace_usage")
      ? await this.#readers.traces.readUsage(
          tenantId,
          runs.flatMap(({ row }) => (row.parentRunId === null ? [row.traceId] : [])),
        )
      : noUsage;
    const serializedRuns = runs.map((run) => {
      this.#checkLimit();
      return JSON.stringify(
        toListItem(run, view, {
          feedbackStats: feedbackStatsByRun.get(run.row.id),
          usage: run.row.parentRunId === null ? usageByTrace.get(run.row.traceId) : undefined,
        }),
      );
    });
    return { runs: serializedRuns, ...position };
  }

  async readTrace(tenantId: string, query: TraceQuery): Promise<TraceLine> {
    const page = await this.#readers.traces.readPage(tenantId, query);
    return {
      json: Buffer.from(`${JSON.stringify(toTraceJson(page))}\n`),
      runCount: page.columns.ids.length,
      ...(page.next === undefined ? {} : { next: page.next }),
    };
  }

  #readFeedbackStats(
    tenantId: string,
    runs: readonly { readonly row: { readonly id: string } }[],
  ): Promise<ReadonlyMap<string, FeedbackStats>> {
    return this.#readers.feedback.readStatsOfRuns(
      tenantId,
      runs.map(({ row }) => row.id),
    );
  }
}

const noUsage: ReadonlyMap<string, TraceUsage> = new Map();
const noStats: ReadonlyMap<string, FeedbackStats> = new Map();
