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

  /** As {@link FeedbackWriter.create}; it checks all before it writes, and so needs no savepoint. */
  add(
    tenantId: string,
    draft: FeedbackDraft,
  ): { readonly feedback: Feedback; readonly isNew: boolean } {
    const digest = createHash("sha256").update(JSON.stringify(draft)).digest("base64url");
    const [known] = parseRows(this.#statements.readDigest.all([tenantId, draft.id]));
    if (known !== undefined) {
      if (known[0] !== digest) {
        throw new RequestError(409, `Feedback ${draft.id} already exists, with other content.`);
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
    const known = this.#read(tenantId, id);
    const given = Object.entries(changes).filter(([, value]) => value !== undefined);
    const values = judgementToValues({ ...known, ...Object.fromEntries(given) });
    // The clock may have stepped back since.
    const modifiedMicros = Math.max(Date.now() * 1_000, known.modifiedMicros + 1);
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
      // The path takes a UUID; its 122 random bits come from the system's generator.
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
        // Those of one request keep their order.
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

  /** A run may be on its way, and its project with it: whether another tenant has one of that id is no matter. */
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
    insert: db.prepare(`INSERT INTO feedback (${columns}) VALUES (${placesOf(columns)})`),
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

const placesOf = (columns: string): string => columns.replaceAll(/\w+/g, "?");
