import type { FeedbackDraft } from "../../runs/run-feedback.ts";
import type { Database } from "../../storage/query.ts";
import { feedbackQueries } from "../feedback-queries.ts";
import {
  assertRepetition,
  assertTargets,
  digestDraft,
  findRequiredProject,
  toFeedbackRow,
} from "../feedback-row.ts";

/** Adds the feedback that arrives in the same request as runs. */
export class PostgresRunFeedback {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Stores feedback. All checks precede the write, so a failed check leaves nothing that must be rolled back.
   *
   * @throws RequestError the feedback can't be stored.
   */
  async add(tenantId: string, draft: FeedbackDraft): Promise<{ readonly isNew: boolean }> {
    const digest = digestDraft(draft);
    const stored = await this.#db.first(feedbackQueries.readDigest, { tenantId, id: draft.id });
    if (stored !== undefined) {
      assertRepetition(draft, digest, stored.digest);
      return { isNew: false };
    }
    const { runId, projectId, comparativeId } = draft;
    const { findProject, findComparative, insert } = feedbackQueries;
    const exists = async (query: typeof findProject, id: string | null): Promise<boolean> =>
      id === null || (await this.#db.first(query, { tenantId, id })) !== undefined;
    assertTargets({
      hasProject: await exists(findProject, findRequiredProject(runId, projectId)),
      hasComparative: await exists(findComparative, comparativeId),
    });
    await this.#db.run(insert, toFeedbackRow(tenantId, draft, { runId, projectId, digest }));
    return { isNew: true };
  }
}
