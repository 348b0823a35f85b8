import type { RequestScoped } from "../http/request-scope.ts";
import type { RetentionWrites } from "./retention/retention.ts";
import type { RunFeedbackReads } from "./run-feedback.ts";
import type { RunListReads } from "./run-list.ts";
import type { RunPageReads } from "./run-pages.ts";
import type { RunReads, RunWrites } from "./run-query.ts";
import type { IngestResult, PackedBatch, RunBatch } from "./run-record.ts";
import type { TraceReads } from "./trace.ts";
import type { Promised } from "../storage/promised.ts";

export interface RunReaders {
  readonly feedback: RunFeedbackReads;
  readonly runLists: RunListReads;
  readonly runs: RunReads;
  readonly traces: TraceReads;
}

/** The part of the store that the handlers of runs need. */
export interface RunStore extends RequestScoped<RunStore> {
  readonly read: Promised<RunReaders & { readonly runPages: RunPageReads }>;
  readonly write: Promised<{ readonly runs: RunWrites }> & { readonly retention: RetentionWrites };
  /** Stores a batch. Resolves once the batch would survive a crash of the process. */
  ingest(tenantId: string, batch: RunBatch | PackedBatch): Promise<IngestResult>;
}
