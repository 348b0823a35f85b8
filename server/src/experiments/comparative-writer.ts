import { createHash } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { Comparative, ComparativeDraft, ComparativeWrites } from "./comparative.ts";
import { comparativeQueries, parseComparativeRow } from "./comparative-queries.ts";
import type { Database } from "../storage/query.ts";
import { toIds } from "../storage/row-keys.ts";

/** Writes stored comparisons between experiments. */
export class ComparativeWriter implements ComparativeWrites {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async create(tenantId: string, draft: ComparativeDraft): Promise<Comparative> {
    const key = { tenantId, id: draft.id };
    const digest = createHash("sha256")
      .update(JSON.stringify(toIds(tenantId, draft)))
      .digest("base64url");
    const existing = await this.#db.first(comparativeQueries.readDigest, key);
    if (existing !== undefined && existing.digest !== digest) {
      throw new RequestError(
        409,
        `Comparative experiment ${draft.id} already exists with different content.`,
      );
    }
    if (existing === undefined) {
      await this.#insert(tenantId, draft, digest);
    }
    const row = await this.#db.first(comparativeQueries.find, key);
    if (row === undefined) {
      throw new Error(`comparative experiment ${draft.id} was not stored`);
    }
    return parseComparativeRow(row);
  }

  async #insert(tenantId: string, draft: ComparativeDraft, digest: string): Promise<void> {
    const createdMicros = draft.createdMicros ?? Date.now() * 1_000;
    await this.#db.run(comparativeQueries.insert, {
      tenant_id: tenantId,
      id: draft.id,
      dataset_id: await this.#resolveDataset(tenantId, draft),
      name_json: toJson(draft.name),
      description_json: toJson(draft.description),
      extra_json: toJson(draft.extra),
      created_us: createdMicros,
      modified_us: createdMicros,
      digest,
    });
    for (const [position, projectId] of draft.experimentIds.entries()) {
      await this.#db.run(comparativeQueries.insertExperiment, {
        tenant_id: tenantId,
        comparative_id: draft.id,
        position,
        project_id: projectId,
      });
    }
  }

  /**
   * Finds the dataset whose experiments are compared: the requested dataset, or else the dataset of the first
   * experiment.
   *
   * @throws RequestError 404: an experiment does not exist. 422: an experiment is on another dataset, or on none.
   */
  async #resolveDataset(
    tenantId: string,
    { experimentIds, datasetId }: ComparativeDraft,
  ): Promise<string> {
    /** Dataset ids by experiment id; `null` for a project that is not an experiment. */
    const datasetIds = new Map<string, string | null>();
    for (const id of experimentIds) {
      const project = await this.#db.first(comparativeQueries.findDatasetOfProject, {
        tenantId,
        id,
      });
      if (project !== undefined) {
        datasetIds.set(id, project.reference_dataset_id);
      }
    }
    const missing = experimentIds.filter((id) => !datasetIds.has(id));
    if (missing.length > 0) {
      throw new RequestError(404, `Experiments not found: ${missing.join(", ")}`);
    }
    const referenceDatasetId = datasetId ?? datasetIds.get(experimentIds[0] ?? "");
    if (typeof referenceDatasetId !== "string") {
      // The LangSmith API defines this message, and its clients check for it.
      throw new RequestError(422, "A reference dataset is required");
    }
    const otherExperimentIds = experimentIds.filter(
      (id) => datasetIds.get(id) !== referenceDatasetId,
    );
    if (otherExperimentIds.length > 0) {
      throw new RequestError(
        422,
        `Experiments are not on dataset ${referenceDatasetId}: ${otherExperimentIds.join(", ")}`,
      );
    }
    return referenceDatasetId;
  }
}

const toJson = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
