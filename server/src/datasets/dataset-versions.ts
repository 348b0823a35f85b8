import { RequestError } from "../model/errors.ts";
import type { Database } from "../storage/query.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type { Dataset } from "./dataset.ts";
import { datasetQueries } from "./dataset-queries.ts";
import { parseDatasetRow } from "./dataset-row.ts";
import { latestTag } from "./dataset-version.ts";
import type { AsOf, DatasetVersion, VersionTime } from "./dataset-version.ts";
import { CurrentAuthor, parseVersionAuthor } from "./version-author.ts";
import type { VersionAuthor } from "./version-author.ts";

/** Finds datasets and their versions, and records new versions. */
export class DatasetVersions {
  readonly #db: Database;
  readonly #tokens: TokenCipher;
  readonly #author: CurrentAuthor;

  /** @param author - the author of the current write; code that only reads may omit it */
  constructor(db: Database, tokenCipher: TokenCipher, author = new CurrentAuthor()) {
    this.#db = db;
    this.#author = author;
    this.#tokens = tokenCipher;
  }

  async findDataset(tenantId: string, id: string): Promise<Dataset | undefined> {
    const row = await this.#db.first(datasetQueries.find, { tenantId, id });
    return row === undefined ? undefined : parseDatasetRow(row, this.#tokens);
  }

  /** @throws RequestError 404: no such dataset. */
  async readDataset(tenantId: string, id: string): Promise<Dataset> {
    const dataset = await this.findDataset(tenantId, id);
    if (dataset === undefined) {
      throw new RequestError(404, "Dataset not found");
    }
    return dataset;
  }

  /** Adds a version, and changes the number of examples of the dataset by `countChange`. */
  async addVersion({ id, tenantId }: Dataset, micros: number, countChange: number): Promise<void> {
    const version = {
      tenant_id: tenantId,
      dataset_id: id,
      at_us: micros,
      author_json: this.#author.toJson(),
    };
    await this.#db.run(datasetQueries.insertVersion, version);
    await this.#db.run(datasetQueries.setVersion, { id, micros, countChange });
  }

  async findVersion(dataset: Dataset, asOf: AsOf): Promise<DatasetVersion | undefined> {
    const micros = await this.#findMicros(dataset, asOf);
    return micros === undefined ? undefined : this.readVersionAt(dataset, micros);
  }

  /** @throws RequestError 404: no such version. */
  async readVersion(dataset: Dataset, asOf: AsOf): Promise<DatasetVersion> {
    const version = await this.findVersion(dataset, asOf);
    if (version === undefined) {
      throw new RequestError(404, "Dataset version not found");
    }
    return version;
  }

  /** Reads the version with exactly this time. */
  async readVersionAt(
    { id, versionMicros }: Pick<Dataset, "id" | "versionMicros">,
    micros: number,
  ): Promise<DatasetVersion> {
    const rows = await this.#db.all(datasetQueries.listTags, { id, micros });
    const tags = rows.map(({ tag_json: tag }) => String(JSON.parse(tag)));
    return { micros, tags: micros === versionMicros ? [latestTag, ...tags] : tags };
  }

  /** Reads who wrote the newest version at or before a time; `null` if that is not known. */
  async readAuthor(
    { id, versionMicros }: Pick<Dataset, "id" | "versionMicros">,
    time: VersionTime,
  ): Promise<VersionAuthor | null> {
    const micros = time ?? versionMicros ?? 0;
    const row = await this.#db.first(datasetQueries.findVersionAuthor, { id, micros });
    return parseVersionAuthor(row?.author_json);
  }

  async #findMicros({ id, versionMicros }: Dataset, asOf: AsOf): Promise<number | undefined> {
    if (asOf.kind === "tag" && asOf.tag === latestTag) {
      return versionMicros ?? undefined;
    }
    const { findTagged, findVersionAt } = datasetQueries;
    const row =
      asOf.kind === "tag"
        ? await this.#db.first(findTagged, { id, tagJson: JSON.stringify(asOf.tag) })
        : await this.#db.first(findVersionAt, { id, micros: asOf.micros });
    return row?.at_us;
  }
}
