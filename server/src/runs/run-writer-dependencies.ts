import type { FeedbackDraft } from "./run-feedback.ts";
import type { RunColumns } from "./run-record.ts";

/** The project that a run names, by id or by name. */
export type NamedProject = Pick<RunColumns, "projectId" | "projectName">;

/** The operations on projects that the writer of runs needs. */
export interface RunProjects {
  /**
   * Returns the key of the project that a run names; `undefined` if it names none, a reason if the project can't be
   * used.
   */
  resolve(tenantId: string, named: NamedProject): string | undefined | { readonly reason: string };
  /** Returns the key of the default project for a run that names no project; empty if the run names one. */
  defaultId(tenantId: string, named: NamedProject): string;
  /**
   * Returns the key of the project with this name, or of the default project for `null`. Creates the project if it
   * is missing.
   */
  idOf(tenantId: string, projectName: string | null): string;
  /** Whether a project belongs to the tenant. */
  isOf(tenantId: string, id: string): boolean;
  /** Drops cached keys. Called after a transaction was rolled back. */
  forget(): void;
}

/**
 * The operation on feedback that the writer of runs needs. Feedback that arrives in the same request as runs is
 * stored with them.
 */
export interface RunFeedback {
  add(tenantId: string, draft: FeedbackDraft): { readonly isNew: boolean };
}
