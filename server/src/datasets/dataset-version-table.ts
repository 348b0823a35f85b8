import { RequestError } from "../model/errors.ts";
import { latestTag } from "./dataset-version.ts";
import type { Dataset } from "./dataset.ts";
import type { AsOf, DatasetVersion } from "./dataset-version.ts";
import { datasetSelection, parseDatasetRow } from "./dataset-row.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import type { Connection } from "../storage/sqlite/connection.ts";

/**
 * Microseconds by which a client may backdate a write. Clients send the time at which they were called, which is before
 * the request arrives.
 */
const maxBackdateMicros = 60_000_000;

/** Finds datasets for the writers, and records their versions. */
export class DatasetVersionTable {
  readonly #statements;

  constructor(db: Connection) {
    this.#statements = {
      find: db.prepare(`${datasetSelection} AND d.id = ? AND d.tenant_id = ? GROUP BY d.id`).raw(),
      insertVersion: db.prepare(
        "INSERT INTO dataset_versions (tenant_id, dataset_id, at_us) VALUES (?, ?, ?)",
      ),
      setVersion: db.prepare(
        "UPDATE datasets SET version_us = ?, modified_us = ?, example_count = example_count + ? WHERE id = ?",
      ),
      atTime: db
        .prepare(
          "SELECT at_us FROM dataset_versions WHERE dataset_id = ? AND at_us <= ? ORDER BY at_us DESC LIMIT 1",
        )
        .raw(),
      atTag: db
        .prepare("SELECT at_us FROM dataset_tags WHERE dataset_id = ? AND tag_json = ?")
        .raw(),
      tagsAt: db
        .prepare(
          "SELECT tag_json FROM dataset_tags WHERE dataset_id = ? AND at_us = ? ORDER BY tag_json",
        )
        .raw(),
    };
  }

  find(tenantId: string, id: string): Dataset | undefined {
    const [values] = parseRows(this.#statements.find.all([id, tenantId]));
    return values === undefined ? undefined : parseDatasetRow(values);
  }

  /** @throws RequestError 404: no such dataset. */
  read(tenantId: string, id: string): Dataset {
    const dataset = this.find(tenantId, id);
    if (dataset === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return dataset;
  }

  /**
   * Chooses the time of a new version: the requested time if it is recent and after the newest version, otherwise
   * now. The versions' times strictly increase.
   */
  nextVersion({ versionMicros }: Dataset, requestedMicros?: number): number {
    const now = Date.now() * 1_000;
    const last = versionMicros ?? 0;
    const canUseRequested =
      requestedMicros !== undefined &&
      requestedMicros > last &&
      requestedMicros <= now &&
      requestedMicros >= now - maxBackdateMicros;
    return canUseRequested ? requestedMicros : Math.max(now, last + 1);
  }

  /** Adds a version. `added` is the change in the number of examples; it may be negative. */
  addVersion({ id, tenantId }: Dataset, micros: number, added: number): void {
    this.#statements.insertVersion.run([tenantId, id, micros]);
    this.#statements.setVersion.run([micros, micros, added, id]);
  }

  findVersion(dataset: Dataset, asOf: AsOf): DatasetVersion | undefined {
    const micros = this.#microsOf(dataset, asOf);
    return micros === undefined ? undefined : { micros, tags: this.tagsAt(dataset, micros) };
  }

  tagsAt({ id, versionMicros }: Dataset, micros: number): readonly string[] {
    const storedTags = parseRows(this.#statements.tagsAt.all([id, micros])).map(([tag]) =>
      String(JSON.parse(String(tag))),
    );
    return micros === versionMicros ? [latestTag, ...storedTags] : storedTags;
  }

  #microsOf({ id, versionMicros }: Dataset, asOf: AsOf): number | undefined {
    if (asOf.kind === "tag" && asOf.tag === latestTag) {
      return versionMicros ?? undefined;
    }
    const { atTag, atTime } = this.#statements;
    const rows =
      asOf.kind === "tag"
        ? atTag.all([id, JSON.stringify(asOf.tag)])
        : atTime.all([id, asOf.micros]);
    const [values] = parseRows(rows);
    return values === undefined ? undefined : Number(values[0]);
  }
}
