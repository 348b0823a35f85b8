import type { FeedbackDraft } from "../../runs/run-feedback.ts";
import type { RunFeedback } from "../../runs/run-writer-dependencies.ts";
import type { Connection } from "../../storage/sqlite/connection.ts";
import { prepareQuery } from "../../storage/sqlite/sqlite-database.ts";
import type { TenantKeyWriter } from "../../storage/sqlite/tenant-keys.ts";
import { feedbackQueries } from "../feedback-queries.ts";
import {
  assertRepetition,
  assertTargets,
  digestDraft,
  findRequiredProject,
  toFeedbackRow,
} from "../feedback-row.ts";

/** Adds the feedback that arrives in the same request as runs. It is synchronous, like the code that stores runs. */
export class SqliteRunFeedback implements RunFeedback {
  readonly #keys: TenantKeyWriter;
  readonly #queries;

  constructor(db: Connection, keys: TenantKeyWriter) {
    const { readDigest, insert, findProject, findComparative } = feedbackQueries;
    this.#keys = keys;
    this.#queries = {
      readDigest: prepareQuery(db, readDigest),
      insert: prepareQuery(db, insert),
      findProject: prepareQuery(db, findProject),
      findComparative: prepareQuery(db, findComparative),
    };
  }

  /** Stores feedback. All checks precede the write, so a failed check leaves nothing that must be rolled back. */
  add(tenantId: string, draft: FeedbackDraft): { readonly isNew: boolean } {
    const digest = digestDraft(draft);
    const [stored] = this.#queries.readDigest.all({ tenantId, id: draft.id });
    if (stored !== undefined) {
      assertRepetition(draft, digest, stored.digest);
      return { isNew: false };
    }
    const { runId, projectId, comparativeId } = draft;
    const runKey = runId && this.#keys.keyOf("run", tenantId, runId);
    const projectKey = projectId && this.#keys.keyOf("project", tenantId, projectId);
    const { findProject, findComparative, insert } = this.#queries;
    const exists = (query: typeof findProject, id: string | null): boolean =>
      id === null || query.all({ tenantId, id }).length > 0;
    assertTargets({
      hasProject: exists(findProject, findRequiredProject(runKey, projectKey)),
      hasComparative: exists(findComparative, comparativeId),
    });
    insert.run(toFeedbackRow(tenantId, draft, { runId: runKey, projectId: projectKey, digest }));
    return { isNew: true };
  }
}
