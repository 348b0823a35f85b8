import { hasMetadata } from "../projects/project.ts";
import { escapeJsonPart } from "../storage/dialect.ts";
import type { Database } from "../storage/query.ts";
import { digestToken } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import { differenceKinds } from "./dataset.ts";
import type {
  Dataset,
  DatasetDiff,
  DatasetDiffPage,
  DatasetQuery,
  DatasetReads,
  DiffPageQuery,
  VersionQuery,
} from "./dataset.ts";
import {
  datasetListQueries,
  datasetQueries,
  datasetVersionListQueries,
} from "./dataset-queries.ts";
import { parseDatasetRow } from "./dataset-row.ts";
import { latestTag } from "./dataset-version.ts";
import type { AsOf, DatasetVersion, VersionTime } from "./dataset-version.ts";
import { DatasetVersions } from "./dataset-versions.ts";
import type { VersionAuthor } from "./version-author.ts";

/** Queries datasets and their versions. */
export class DatasetReader implements DatasetReads {
  readonly #db: Database;
  readonly #tokens: TokenCipher;
  readonly #versions: DatasetVersions;

  constructor(db: Database, tokenCipher: TokenCipher) {
    this.#db = db;
    this.#tokens = tokenCipher;
    this.#versions = new DatasetVersions(db, tokenCipher);
  }

  find(tenantId: string, id: string): Promise<Dataset | undefined> {
    return this.#versions.findDataset(tenantId, id);
  }

  async findShared(token: string): Promise<Dataset | undefined> {
    const row = await this.#db.first(datasetQueries.findShared, { digest: digestToken(token) });
    return row === undefined ? undefined : parseDatasetRow(row, this.#tokens);
  }

  /**
   * Lists the datasets that the query selects. Compares metadata in JavaScript, not in SQL, because the order of the
   * members in the metadata does not matter.
   */
  async list(tenantId: string, query: DatasetQuery): Promise<readonly Dataset[]> {
    const { name, nameContains, ids, dataTypes, metadata, limit, offset } = query;
    const { order, isDescending } = query;
    const values = {
      tenantId,
      nameJson: name === undefined ? undefined : JSON.stringify(name),
      namePart: nameContains === undefined ? undefined : escapeJsonPart(nameContains),
      ids: ids && JSON.stringify(ids),
      dataTypes: dataTypes && JSON.stringify(dataTypes),
      ...(metadata === undefined && { limit, offset }),
    };
    const listQuery = datasetListQueries.select(values, { order, isDescending });
    const rows = await this.#db.all(listQuery, values);
    const datasets = rows.map((row) => parseDatasetRow(row, this.#tokens));
    return metadata === undefined
      ? datasets
      : datasets.filter((dataset) => hasMetadata(dataset, metadata)).slice(offset, offset + limit);
  }

  async findVersion(tenantId: string, id: string, asOf: AsOf): Promise<DatasetVersion | undefined> {
    const dataset = await this.find(tenantId, id);
    return dataset === undefined ? undefined : this.#versions.findVersion(dataset, asOf);
  }

  async listVersions(
    tenantId: string,
    id: string,
    query: VersionQuery,
  ): Promise<readonly DatasetVersion[]> {
    const dataset = await this.find(tenantId, id);
    if (dataset === undefined) {
      return [];
    }
    const { search, exampleId, limit, offset } = query;
    const matchesLatest = search !== undefined && latestTag.includes(search.toLowerCase());
    const values = {
      datasetId: id,
      tagPart: search === undefined ? undefined : escapeJsonPart(search),
      latestMicros: matchesLatest ? (dataset.versionMicros ?? undefined) : undefined,
      exampleId,
      limit,
      offset,
    };
    const versions: DatasetVersion[] = [];
    for (const row of await this.#db.all(datasetVersionListQueries.select(values), values)) {
      versions.push(await this.#versions.readVersionAt(dataset, row.at_us));
    }
    return versions;
  }

  async countVersions(tenantId: string, id: string, upToMicros: VersionTime): Promise<number> {
    const micros = upToMicros ?? Number.MAX_SAFE_INTEGER;
    const row = await this.#db.first(datasetQueries.countVersions, { tenantId, id, micros });
    return Number(row?.count ?? 0);
  }

  async readVersionAuthor(
    tenantId: string,
    id: string,
    time: VersionTime,
  ): Promise<VersionAuthor | null> {
    const dataset = await this.find(tenantId, id);
    return dataset === undefined ? null : this.#versions.readAuthor(dataset, time);
  }

  async diff(
    tenantId: string,
    id: string,
    { from, to }: { from: VersionTime; to: VersionTime },
  ): Promise<DatasetDiff> {
    const diff = { added: [] as string[], modified: [] as string[], removed: [] as string[] };
    const dataset = await this.find(tenantId, id);
    if (dataset === undefined) {
      return diff;
    }
    const newestMicros = dataset.versionMicros ?? 0;
    const values = { id, from: from ?? newestMicros, to: to ?? newestMicros };
    for (const row of await this.#db.all(datasetQueries.diff, values)) {
      if (row.was_present === 0) {
        diff.added.push(row.id);
      } else {
        (row.is_present === 0 ? diff.removed : diff.modified).push(row.id);
      }
    }
    return diff;
  }

  async diffPage(
    tenantId: string,
    id: string,
    { kind, limit, offset, ...versionTimes }: DiffPageQuery,
  ): Promise<DatasetDiffPage> {
    const diff = await this.diff(tenantId, id, versionTimes);
    const selectedKinds = kind === undefined ? differenceKinds : [kind];
    return {
      countByKind: {
        removed: diff.removed.length,
        modified: diff.modified.length,
        added: diff.added.length,
      },
      changes: selectedKinds
        .flatMap((kindOfChange) =>
          diff[kindOfChange].map((exampleId) => ({ id: exampleId, kind: kindOfChange })),
        )
        .slice(offset, offset + limit),
    };
  }
}
