import type { ProjectChanges, ProjectDraft, ProjectFate } from "../project.ts";
import type { IngestResult, RunBatch } from "../run-record.ts";

/** What the writer's thread is asked to do. */
export type WriterRequest =
  | { readonly kind: "ingest"; readonly batch: RunBatch }
  | { readonly kind: "share"; readonly id: string }
  | { readonly kind: "unshare"; readonly id: string }
  | { readonly kind: "createProject"; readonly draft: ProjectDraft }
  | { readonly kind: "updateProject"; readonly id: string; readonly changes: ProjectChanges }
  | { readonly kind: "deleteProject"; readonly id: string }
  | { readonly kind: "close" };

/** What a request comes back with. */
export interface WriterAnswers {
  readonly ingest: IngestResult;
  readonly share: string | undefined;
  readonly unshare: undefined;
  readonly createProject: ProjectFate;
  readonly updateProject: ProjectFate;
  readonly deleteProject: boolean;
  readonly close: undefined;
}

/** A request under way. */
export interface WriterCall {
  readonly sequence: number;
  readonly request: WriterRequest;
}

/** What the writer's thread says. */
export type WriterMessage =
  | { readonly kind: "ready"; readonly tenantId: string }
  | { readonly kind: "failedToStart"; readonly reason: string }
  | {
      readonly kind: "answer";
      readonly sequence: number;
      readonly value: WriterAnswers[keyof WriterAnswers];
    }
  | { readonly kind: "failed"; readonly sequence: number; readonly reason: string };
