import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { FeedbackDraft } from "../runs/run-feedback.ts";
import type { Database } from "../storage/query.ts";
import type { RowKeys } from "../storage/row-keys.ts";
import { digestToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type {
  Feedback,
  FeedbackToken,
  FeedbackTokenDraft,
  FeedbackWrites,
  JudgementChanges,
} from "./feedback.ts";
import { feedbackQueries } from "./feedback-queries.ts";
import {
  assertRepetition,
  assertTargets,
  digestDraft,
  parseFeedbackRow,
  findRequiredProject,
  toFeedbackRow,
  toJson,
  toJudgementColumns,
} from "./feedback-row.ts";

/** Writes feedback and its tokens. */
export class FeedbackWriter implements FeedbackWrites {
  readonly #db: Database;
  readonly #keys: RowKeys;
  readonly #tokens: TokenCipher;

  constructor(db: Database, keys: RowKeys, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#keys = keys;
    this.#tokens = tokenCipher;
  }

  async create(tenantId: string, draft: FeedbackDraft): Promise<Feedback> {
    const digest = digestDraft(draft);
    const stored = await this.#db.first(feedbackQueries.readDigest, { tenantId, id: draft.id });
    if (stored === undefined) {
      await this.#insert(tenantId, draft, digest);
    } else {
      assertRepetition(draft, digest, stored.digest);
    }
    return this.#read(tenantId, draft.id);
  }

  async update(tenantId: string, id: string, changes: JudgementChanges): Promise<Feedback> {
    const currentFeedback = await this.#read(tenantId, id);
    const definedChanges = Object.entries(changes).filter(([, value]) => value !== undefined);
    await this.#db.run(feedbackQueries.update, {
      ...toJudgementColumns({ ...currentFeedback, ...Object.fromEntries(definedChanges) }),
      tenant_id: tenantId,
      id,
      // The time must increase, even if the clock was set back.
      modified_us: Math.max(Date.now() * 1_000, currentFeedback.modifiedMicros + 1),
    });
    return this.#read(tenantId, id);
  }

  async delete(tenantId: string, id: string): Promise<void> {
    if ((await this.#db.run(feedbackQueries.delete, { tenantId, id })) === 0) {
      throw new RequestError(404, "Feedback not found");
    }
  }

  async createTokens(
    tenantId: string,
    drafts: readonly FeedbackTokenDraft[],
  ): Promise<readonly FeedbackToken[]> {
    const created: FeedbackToken[] = [];
    for (const draft of drafts) {
      // The path of the API requires a UUID; 122 of its bits are cryptographically random.
      const token = { ...draft, tenantId, token: randomUUID(), id: randomUUID() };
      await this.#db.run(feedbackQueries.insertToken, {
        digest: digestToken(token.token),
        sealed: this.#tokens.encrypt(token.token, tokenOwner.feedback(token.id)),
        tenant_id: tenantId,
        id: token.id,
        run_id: await this.#keys.keyOf("run", tenantId, token.runId),
        key_json: JSON.stringify(token.key),
        config_json: toJson(token.config),
        // Increasing times preserve the order of the tokens of one request.
        created_us: Date.now() * 1_000 + created.length,
        expires_us: token.expiresMicros,
      });
      created.push(token);
    }
    return created;
  }

  async #read(tenantId: string, id: string): Promise<Feedback> {
    const row = await this.#db.first(feedbackQueries.find, { tenantId, id });
    if (row === undefined) {
      throw new RequestError(404, "Feedback not found");
    }
    return parseFeedbackRow(row);
  }

  async #insert(tenantId: string, draft: FeedbackDraft, digest: string): Promise<void> {
    const { runId, projectId, comparativeId } = draft;
    const runKey = runId && (await this.#keys.keyOf("run", tenantId, runId));
    const projectKey = projectId && (await this.#keys.keyOf("project", tenantId, projectId));
    const { findProject, findComparative } = feedbackQueries;
    const exists = async (query: typeof findProject, id: string | null): Promise<boolean> =>
      id === null || (await this.#db.first(query, { tenantId, id })) !== undefined;
    assertTargets({
      hasProject: await exists(findProject, findRequiredProject(runKey, projectKey)),
      hasComparative: await exists(findComparative, comparativeId),
    });
    const row = toFeedbackRow(tenantId, draft, { runId: runKey, projectId: projectKey, digest });
    await this.#db.run(feedbackQueries.insert, row);
  }
}
