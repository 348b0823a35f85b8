import { createHash, randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type {
  Feedback,
  FeedbackToken,
  FeedbackTokenDraft,
  FeedbackWrites,
  JudgementChanges,
} from "./feedback.ts";
import type { FeedbackDraft } from "../runs/run-feedback.ts";
import {
  feedbackSelection,
  judgementColumns,
  judgementToValues,
  parseFeedbackRow,
  toJson,
  tokenColumns,
} from "./feedback-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import type { TenantKeyWriter } from "../storage/sqlite/tenant-keys.ts";
import { digestToken, tokenOwners } from "../storage/sqlite/token-keys.ts";

/** Writes feedback and its tokens. */
export class FeedbackWriter implements FeedbackWrites {
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #keys: TenantKeyWriter;

  constructor(db: Connection, keys: TenantKeyWriter) {
    this.#keys = keys;
    this.#statements = prepareStatements(db);
  }

  create(tenantId: string, draft: FeedbackDraft): Feedback {
    return this.add(tenantId, draft).feedback;
  }

  /**
   * As {@link FeedbackWriter.create}. Everything is checked before the first write, so a failure needs no savepoint.
   */
  add(
    tenantId: string,
    draft: FeedbackDraft,
  ): { readonly feedback: Feedback; readonly isNew: boolean } {
    const digest = createHash("sha256").update(JSON.stringify(draft)).digest("base64url");
    const [existing] = parseRows(this.#statements.readDigest.all([tenantId, draft.id]));
    if (existing !== undefined) {
      if (existing[0] !== digest) {
        throw new RequestError(409, `Feedback ${draft.id} already exists with different content.`);
      }
      return { feedback: this.#read(tenantId, draft.id), isNew: false };
    }
    const { runId, projectId } = this.#toKeys(tenantId, draft);
    this.#checkTarget(tenantId, { ...draft, runId, projectId });
    const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
    this.#statements.insert.run([
      tenantId,
      draft.id,
      runId,
      projectId,
      draft.comparativeId,
      JSON.stringify(draft.key),
      ...judgementToValues(draft),
      toJson(draft.extra),
      JSON.stringify(draft.sourceType),
      toJson(draft.sourceMetadata),
      createdMicros,
      createdMicros,
      digest,
    ]);
    return { feedback: this.#read(tenantId, draft.id), isNew: true };
  }

  update(tenantId: string, id: string, changes: JudgementChanges): Feedback {
    const current = this.#read(tenantId, id);
    const definedChanges = Object.entries(changes).filter(([, value]) => value !== undefined);
    const values = judgementToValues({ ...current, ...Object.fromEntries(definedChanges) });
    // Never go back, even if the clock was set back.
    const modifiedMicros = Math.max(Date.now() * 1_000, current.modifiedMicros + 1);
    this.#statements.update.run([...values, modifiedMicros, tenantId, id]);
    return this.#read(tenantId, id);
  }

  delete(tenantId: string, id: string): void {
    if (this.#statements.delete.run([tenantId, id]).changes === 0) {
      throw new RequestError(404, "Feedback not found");
    }
  }

  createTokens(tenantId: string, drafts: readonly FeedbackTokenDraft[]): readonly FeedbackToken[] {
    return drafts.map((draft, index) => {
      // The path requires a UUID; 122 of its bits are cryptographically random.
      const token = { ...draft, tenantId, token: randomUUID(), id: randomUUID() };
      this.#statements.insertToken.run([
        digestToken(token.token),
        token.token,
        tenantId,
        token.id,
        this.#keys.keyOf("run", tenantId, token.runId),
        JSON.stringify(token.key),
        toJson(token.config),
        token.expiresMicros,
        // Keeps the order of the tokens of one request.
        Date.now() * 1_000 + index,
      ]);
      return token;
    });
  }

  #read(tenantId: string, id: string): Feedback {
    const [values] = parseRows(this.#statements.find.all([tenantId, id]));
    if (values === undefined) {
      throw new RequestError(404, "Feedback not found");
    }
    return parseFeedbackRow(values);
  }

  #toKeys(tenantId: string, { runId, projectId }: FeedbackDraft) {
    return {
      runId: runId === null ? null : this.#keys.keyOf("run", tenantId, runId),
      projectId: projectId === null ? null : this.#keys.keyOf("project", tenantId, projectId),
    };
  }

  /**
   * Checks the project and the comparison. A run is not checked, because it may arrive later, and its project with
   * it; runs of other tenants with the same id are irrelevant.
   */
  #checkTarget(tenantId: string, { runId, projectId, comparativeId }: FeedbackDraft): void {
    const project = [tenantId, projectId];
    if (
      projectId !== null &&
      runId === null &&
      this.#statements.findProject.all(project).length === 0
    ) {
      throw new RequestError(404, "Session not found");
    }
    const comparison = [tenantId, comparativeId];
    if (comparativeId !== null && this.#statements.findComparative.all(comparison).length === 0) {
      throw new RequestError(404, "Comparative experiment not found");
    }
  }
}

function prepareStatements(db: Connection) {
  const columns = `tenant_id, id, run_id, project_id, comparative_id, key_json, ${judgementColumns},
    extra_json, source_type_json, source_metadata_json, created_us, modified_us, digest`;
  const assignments = judgementColumns.replaceAll(/\w+/g, "$& = ?");
  return {
    find: db.prepare(`${feedbackSelection} WHERE f.tenant_id = ? AND f.id = ?`).raw(),
    readDigest: db.prepare("SELECT digest FROM feedback WHERE tenant_id = ? AND id = ?").raw(),
    insert: db.prepare(`INSERT INTO feedback (${columns}) VALUES (${toPlaceholders(columns)})`),
    update: db.prepare(
      `UPDATE feedback SET ${assignments}, modified_us = ? WHERE tenant_id = ? AND id = ?`,
    ),
    delete: db.prepare("DELETE FROM feedback WHERE tenant_id = ? AND id = ?"),
    insertToken: db.prepare(
      `INSERT INTO feedback_tokens (digest, sealed, ${tokenColumns})
       VALUES (?1, seal_token(?2, ${tokenOwners.feedback("?4")}), ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
    ),
    findProject: db.prepare("SELECT 1 FROM projects WHERE tenant_id = ? AND id = ?").raw(),
    findComparative: db.prepare("SELECT 1 FROM comparatives WHERE tenant_id = ? AND id = ?").raw(),
  };
}

const toPlaceholders = (columns: string): string => columns.replaceAll(/\w+/g, "?");
