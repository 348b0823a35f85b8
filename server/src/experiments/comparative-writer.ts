import { createHash } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { Comparative, ComparativeDraft, ComparativeWrites } from "./comparative.ts";
import { comparativeSelection, parseComparativeRow } from "./comparative-row.ts";
import { toJson } from "../feedback/feedback-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { toIds } from "../storage/row-keys.ts";

/** Writes comparative experiments. */
export class ComparativeWriter implements ComparativeWrites {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      find: db.prepare(`${comparativeSelection} WHERE c.tenant_id = ? AND c.id = ?`).raw(),
      readDigest: db
        .prepare("SELECT digest FROM comparatives WHERE tenant_id = ? AND id = ?")
        .raw(),
      insert: db.prepare(
        `INSERT INTO comparatives (tenant_id, id, dataset_id, name_json, description_json, extra_json,
           created_us, modified_us, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      insertExperiment: db.prepare(
        `INSERT INTO comparative_experiments (tenant_id, comparative_id, position, project_id)
         VALUES (?, ?, ?, ?)`,
      ),
      datasetOfProject: db
        .prepare("SELECT reference_dataset_id FROM projects WHERE tenant_id = ? AND id = ?")
        .raw(),
    };
  }

  create(tenantId: string, draft: ComparativeDraft): Comparative {
    const digest = createHash("sha256")
      .update(JSON.stringify(toIds(tenantId, draft)))
      .digest("base64url");
    const [existing] = parseRows(this.#statements.readDigest.all([tenantId, draft.id]));
    if (existing !== undefined && existing[0] !== digest) {
      throw new RequestError(
        409,
        `Comparative experiment ${draft.id} already exists with different content.`,
      );
    }
    if (existing === undefined) {
      this.#insert(tenantId, draft, digest);
    }
    const [values = []] = parseRows(this.#statements.find.all([tenantId, draft.id]));
    return parseComparativeRow(values);
  }

  #insert(tenantId: string, draft: ComparativeDraft, digest: string): void {
    const datasetId = this.#resolveDataset(tenantId, draft);
    const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
    this.#statements.insert.run([
      tenantId,
      draft.id,
      datasetId,
      toJson(draft.name),
      toJson(draft.description),
      toJson(draft.extra),
      createdMicros,
      createdMicros,
      digest,
    ]);
    draft.experimentIds.forEach((projectId, position) => {
      this.#statements.insertExperiment.run([tenantId, draft.id, position, projectId]);
    });
  }

  /**
   * Returns the dataset of the comparison.
   *
   * @throws RequestError 404: an experiment does not exist. 422: an experiment is not on that dataset.
   */
  #resolveDataset(tenantId: string, { experimentIds, datasetId }: ComparativeDraft): string {
    const datasets = new Map(
      experimentIds.map((id) => [id, this.#datasetOf(tenantId, id)] as const),
    );
    const missing = experimentIds.filter((id) => datasets.get(id) === undefined);
    if (missing.length > 0) {
      throw new RequestError(404, `Experiments not found: ${missing.join(", ")}`);
    }
    const referenceDatasetId = datasetId ?? datasets.get(experimentIds[0] ?? "");
    if (typeof referenceDatasetId !== "string") {
      // The message text is defined by the specification (section 5).
      throw new RequestError(422, "A reference dataset is required");
    }
    const others = experimentIds.filter((id) => datasets.get(id) !== referenceDatasetId);
    if (others.length > 0) {
      throw new RequestError(
        422,
        `Experiments are not on dataset ${referenceDatasetId}: ${others.join(", ")}`,
      );
    }
    return referenceDatasetId;
  }

  /** The dataset of an experiment; `null` if the project is no experiment, `undefined` if it does not exist. */
  #datasetOf(tenantId: string, projectId: string): string | null | undefined {
    const [values] = parseRows(this.#statements.datasetOfProject.all([tenantId, projectId]));
    if (values === undefined) {
      return undefined;
    }
    return typeof values[0] === "string" ? values[0] : null;
  }
}
