import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import type { LongWrite, WithLongWrites } from "../storage/long-write.ts";
import type { Database } from "../storage/query.ts";
import { toIds } from "../storage/row-keys.ts";
import type { RowKeys } from "../storage/row-keys.ts";
import { digestToken, readToken, tokenOwner } from "../storage/share-token.ts";
import type { TokenCipher } from "../storage/share-token.ts";
import type {
  Dataset,
  DatasetChanges,
  DatasetDraft,
  DatasetExamplesWriter,
  DatasetWrites,
  ExampleTextIndex,
  IndexPosition,
} from "./dataset.ts";
import { datasetDeletions, datasetQueries } from "./dataset-queries.ts";
import { DatasetRows } from "./dataset-rows.ts";
import { latestTag } from "./dataset-version.ts";
import type { AsOf, DatasetVersion } from "./dataset-version.ts";
import type { CurrentAuthor } from "./version-author.ts";
import { DatasetVersions } from "./dataset-versions.ts";
import type { SchemaChecks } from "./examples/schemas/schema-checks.ts";

/** Maximum number of rows that one call adds to the search index, so that other writes can run in between. */
const maxRowsPerIndexCall = 1_000;

/** {@link DatasetWrites} for the writer thread: `update` resolves to a `LongWrite`, which runs in slices. */
export type DatasetWriteSteps = WithLongWrites<DatasetWrites, "update">;

interface DatasetWriterDependencies {
  readonly keys: RowKeys;
  readonly tokenCipher: TokenCipher;
  readonly schemaChecks: SchemaChecks;
  readonly examples: DatasetExamplesWriter;
  readonly index: ExampleTextIndex;
  readonly author?: CurrentAuthor;
}

/** Writes datasets, their shares, tags and search indexes. */
export class DatasetWriter implements DatasetWriteSteps {
  readonly #db: Database;
  readonly #dependencies: DatasetWriterDependencies;
  readonly #rows: DatasetRows;
  readonly #versions: DatasetVersions;

  constructor(db: Database, dependencies: DatasetWriterDependencies) {
    this.#db = db;
    this.#dependencies = dependencies;
    this.#rows = new DatasetRows(db, dependencies.keys);
    this.#versions = new DatasetVersions(db, dependencies.tokenCipher, dependencies.author);
  }

  async create(tenantId: string, draft: DatasetDraft): Promise<Dataset> {
    this.#dependencies.schemaChecks.requireValidSchemas(draft);
    const key = await this.#rows.insert(tenantId, draft, "ready");
    return toIds(tenantId, await this.#versions.readDataset(tenantId, key));
  }

  async update(
    tenantId: string,
    id: string,
    { fields, exampleChanges: changes }: DatasetChanges,
  ): Promise<LongWrite<Dataset>> {
    const dataset = { ...(await this.#versions.readDataset(tenantId, id)), ...fields };
    await this.#rows.assertNameUnused(tenantId, id, dataset.name);
    return this.#dependencies.examples.updateDataset(tenantId, {
      dataset,
      changes,
      mustCheckExamples: fields.inputsSchema !== undefined || fields.outputsSchema !== undefined,
    });
  }

  async deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]> {
    const deletedIds: string[] = [];
    for (const id of new Set(ids)) {
      if ((await this.#versions.findDataset(tenantId, id)) !== undefined) {
        await this.#rows.retire(id);
        deletedIds.push(id);
      }
    }
    if (deletedIds.length === 0) {
      throw new RequestError(404, "Dataset not found");
    }
    return deletedIds;
  }

  async sweep(): Promise<boolean> {
    const retired = await this.#db.first(datasetQueries.findRetired, {});
    if (retired === undefined) {
      return false;
    }
    if (await this.#dependencies.examples.eraseSome(retired.id)) {
      for (const deletion of Object.values(datasetDeletions)) {
        await this.#db.run(deletion, retired);
      }
    }
    return true;
  }

  async share(tenantId: string, id: string): Promise<string> {
    const existing = readToken((await this.#versions.readDataset(tenantId, id)).shareToken);
    if (existing !== null) {
      return existing;
    }
    const token = randomUUID();
    await this.#db.run(datasetQueries.setShare, {
      id,
      share_digest: digestToken(token),
      share_sealed: this.#dependencies.tokenCipher.encrypt(token, tokenOwner.dataset(id)),
    });
    return token;
  }

  async unshare(tenantId: string, id: string): Promise<void> {
    await this.#versions.readDataset(tenantId, id);
    await this.#db.run(datasetQueries.setShare, { id, share_digest: null, share_sealed: null });
  }

  async tag(
    tenantId: string,
    id: string,
    { asOf, tag }: { asOf: AsOf; tag: string },
  ): Promise<DatasetVersion> {
    const dataset = await this.#versions.readDataset(tenantId, id);
    const { micros } = await this.#versions.readVersion(dataset, asOf);
    await this.#db.run(datasetQueries.setTag, {
      tenant_id: tenantId,
      dataset_id: id,
      tag_json: JSON.stringify(tag),
      at_us: micros,
    });
    return this.#versions.readVersionAt(dataset, micros);
  }

  async beginIndex(tenantId: string, id: string, tag: string): Promise<IndexPosition> {
    const dataset = await this.#versions.readDataset(tenantId, id);
    const micros =
      tag === latestTag
        ? null
        : (await this.#versions.readVersion(dataset, { kind: "tag", tag })).micros;
    const lastKey = await this.#dependencies.index.begin(id);
    const indexJson = JSON.stringify({ tag, micros });
    await this.#db.run(datasetQueries.setIndex, { id, index_json: indexJson });
    return { afterKey: 0, lastKey };
  }

  async extendIndex(
    tenantId: string,
    id: string,
    { afterKey, lastKey }: IndexPosition,
  ): Promise<IndexPosition | undefined> {
    const dataset = await this.#versions.readDataset(tenantId, id);
    const versionTime = dataset.index?.micros ?? null;
    const range = { afterKey, lastKey, versionTime, limit: maxRowsPerIndexCall };
    const lastIndexedKey = await this.#dependencies.index.extend(id, range);
    return lastIndexedKey === undefined ? undefined : { afterKey: lastIndexedKey, lastKey };
  }
}
