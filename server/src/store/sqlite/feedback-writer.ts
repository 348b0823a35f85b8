import { createHash, randomUUID } from "node:crypto";
import { RequestError } from "../../errors.ts";
import type {
  Feedback,
  FeedbackDraft,
  FeedbackToken,
  FeedbackTokenDraft,
  FeedbackWrites,
  JudgementChanges,
} from "../feedback.ts";
import {
  feedbackSelection,
  judgementColumns,
  judgementToValues,
  parseFeedbackRow,
  toJson,
  tokenColumns,
} from "./feedback-row.ts";
import { parseRows } from "./row.ts";
import type { Connection } from "./schema.ts";
import { digestToken, tokenOwners } from "./token-keys.ts";

/** Writes feedback and its tokens. */
export class FeedbackWriter implements FeedbackWrites {
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(db: Connection) {
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
    this.#checkTarget(tenantId, draft);
    const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
    this.#statements.insert.run([
      tenantId,
      draft.id,
      draft.runId,
      draft.projectId,
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
      this.#checkRun(tenantId, draft.runId);
      // The path takes a UUID; its 122 random bits come from the system's generator.
      const token = { ...draft, tenantId, token: randomUUID(), id: randomUUID() };
      this.#statements.insertToken.run([
        digestToken(token.token),
        token.token,
        tenantId,
        token.id,
        token.runId,
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

  #checkTarget(tenantId: string, { runId, projectId, comparativeId }: FeedbackDraft): void {
    if (runId !== null) {
      this.#checkRun(tenantId, runId);
    }
    if (projectId !== null) {
      const [values] = parseRows(this.#statements.tenantOfProject.all([projectId]));
      // The project of a run may be on its way, as the run itself.
      if (values === undefined ? runId === null : values[0] !== tenantId) {
        throw new RequestError(404, "Session not found");
      }
    }
    const comparison = [tenantId, comparativeId];
    if (comparativeId !== null && this.#statements.findComparative.all(comparison).length === 0) {
      throw new RequestError(404, "Comparative experiment not found");
    }
  }

  /** A run that was not received may be on its way. */
  #checkRun(tenantId: string, runId: string): void {
    const [values] = parseRows(this.#statements.tenantOfRun.all([runId]));
    if (values !== undefined && values[0] !== tenantId) {
      throw new RequestError(404, "Run not found");
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
    tenantOfRun: db
      .prepare(
        "SELECT p.tenant_id FROM runs r JOIN projects p ON p.id = r.project_id WHERE r.id = ?",
      )
      .raw(),
    tenantOfProject: db.prepare("SELECT tenant_id FROM projects WHERE id = ?").raw(),
    findComparative: db.prepare("SELECT 1 FROM comparatives WHERE tenant_id = ? AND id = ?").raw(),
  };
}

const placesOf = (columns: string): string => columns.replaceAll(/\w+/g, "?");
