import type { FeedbackDraft } from "./run-feedback.ts";
import type { PricedUsage, ReportedUsage } from "./usage/run-cost.ts";
import type { RunColumns } from "./run-record.ts";
import type { RunRow } from "./run-row.ts";

/** The project that a run names, by id or by name. */
export type ProjectReference = Pick<RunColumns, "projectId" | "projectName">;

/** The operations on projects that the writer of runs needs. */
export interface RunProjects {
  /**
   * Returns the database key of the project that a run names; `undefined` if the run names no project, or the reason
   * why the project can't be used.
   */
  resolve(
    tenantId: string,
    project: ProjectReference,
  ): string | undefined | { readonly reason: string };
  /** Returns the database key of the default project, or an empty string if the run names a project. */
  resolveDefault(tenantId: string, namedProject: ProjectReference): string;
  /**
   * Returns the database key of the project with this name, or of the default project if the name is `null`. Creates a
   * missing project.
   */
  findOrCreate(tenantId: string, projectName: string | null): string;
  /** Whether a project belongs to the tenant. */
  belongsTo(tenantId: string, id: string): boolean;
  /** Drops the cached keys of projects. Must be called after a transaction was rolled back. */
  clearCache(): void;
}

/**
 * The operation on feedback that the writer of runs needs, because feedback may arrive in the same request as runs.
 */
export interface RunFeedback {
  add(tenantId: string, draft: FeedbackDraft): { readonly isNew: boolean };
}

/** The ids that relate a run to its trace. */
export type TraceMember = Pick<RunRow, "id" | "traceId" | "parentRunId">;

/** Records which stored metrics become outdated by a write. */
export interface RunMetrics {
  /** Must be called before each batch, because marks of an earlier batch may have been rolled back or deleted. */
  beginBatch(): void;
  /**
   * Must be called for each run that is added or changed. If the project or the start changes, it must be called with
   * the previous values, too. Pass an added or changed run as `run`: if it is the root of a trace, later calls of
   * {@link markTrace} for this trace need not look the root up.
   */
  mark(projectId: string, startMicros: number, run?: TraceMember): void;
  /**
   * Must be called with the trace of each model call whose usage may change, and of each run whose first token may
   * change; if the trace changes, with both traces.
   */
  markTrace(traceId: string): void;
}

/** Computes the costs of runs. */
export interface RunPrices {
  /** Adds the cost to the usage of a run. A cost that the run reports is not replaced. */
  price(
    tenantId: string,
    run: Pick<RunRow, "runType" | "startMicros">,
    usage: ReportedUsage,
  ): PricedUsage;
  /** Drops cached prices of tenants. Must be called after a transaction was rolled back. */
  clearCache(): void;
}

/**
 * Computes the costs of runs of one tenant at a time. Other servers may change the prices in the shared database, so
 * the prices are read again in each transaction.
 */
export interface RunPricesOfTenant extends Pick<RunPrices, "price"> {
  /** Reads the prices of a tenant. Must be called in each transaction, before the other methods. */
  read(tenantId: string): Promise<void>;
}
