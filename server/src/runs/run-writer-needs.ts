import type { FeedbackDraft } from "./run-feedback.ts";
import type { RunColumns } from "./run-record.ts";

/** The project that a run names, as far as it names one. */
export type NamedProject = Pick<RunColumns, "projectId" | "projectName">;

/** What the writer of runs needs of projects. */
export interface RunProjects {
  /** The key of the project that a run names; `undefined` where it names none, a reason where it can't be used. */
  resolve(tenantId: string, named: NamedProject): string | undefined | { readonly reason: string };
  /** The key of the project for a run that names none; empty where the run names one. */
  defaultId(tenantId: string, named: NamedProject): string;
  /** The key of the project of this name, `null` for the default one. Creates it where it is missing. */
  idOf(tenantId: string, projectName: string | null): string;
  /** Whether a project is a tenant's. */
  isOf(tenantId: string, id: string): boolean;
  /** Drops cached keys, after a transaction that was rolled back. */
  forget(): void;
}

/** What the writer of runs needs of feedback: drafts that arrive in the same request as runs are stored with them. */
export interface RunFeedback {
  add(tenantId: string, draft: FeedbackDraft): { readonly isNew: boolean };
}
