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
  DatasetExamples,
  DatasetWrites,
  ExampleTextIndex,
  IndexPosition,
} from "./dataset.ts";
import { datasetDeletions, datasetQueries } from "./dataset-queries.ts";
import { DatasetRows } from "./dataset-rows.ts";
import { latestTag } from "./dataset-version.ts";
import type { AsOf, DatasetVersion } from "./dataset-version.ts";
import { DatasetVersions } from "./dataset-versions.ts";
import type { SchemaChecks } from "./examples/schemas/schema-checks.ts";

/** Rows that one slice of indexing processes. */
const indexStep = 1_000;

/** What the writer thread calls: an update is performed in slices. */
export type DatasetWriteSteps = WithLongWrites<DatasetWrites, "update">;

interface DatasetWriterParts {
  readonly keys: RowKeys;
  readonly tokens: TokenCipher;
  readonly schemas: SchemaChecks;
  readonly examples: DatasetExamples;
  readonly index: ExampleTextIndex;
}

/** Writes datasets, their shares, tags and search indexes. */
export class DatasetWriter implements DatasetWriteSteps {
  readonly #db: Database;
  readonly #parts: DatasetWriterParts;
  readonly #rows: DatasetRows;
  readonly #versions: DatasetVersions;

  constructor(db: Database, parts: DatasetWriterParts) {
    this.#db = db;
    this.#parts = parts;
    this.#rows = new DatasetRows(db, parts.keys);
    this.#versions = new DatasetVersions(db, parts.tokens);
  }

  async create(tenantId: string, draft: DatasetDraft): Promise<Dataset> {
    this.#parts.schemas.requireValidSchemas(draft);
    const key = await this.#rows.insert(tenantId, draft, "ready");
    return toIds(tenantId, await this.#versions.read(tenantId, key));
  }

  async update(
    tenantId: string,
    id: string,
    { fields, examples: changes }: DatasetChanges,
  ): Promise<LongWrite<Dataset>> {
    const dataset = { ...(await this.#versions.read(tenantId, id)), ...fields };
    await this.#rows.assertNameUnused(tenantId, id, dataset.name);
    return this.#parts.examples.updateDataset(tenantId, {
      dataset,
      changes,
      mustCheck: fields.inputsSchema !== undefined || fields.outputsSchema !== undefined,
    });
  }

  async deleteMany(tenantId: string, ids: readonly string[]): Promise<readonly string[]> {
    const deleted: string[] = [];
    for (const id of new Set(ids)) {
      if ((await this.#versions.find(tenantId, id)) !== undefined) {
        await this.#rows.retire(id);
        deleted.push(id);
      }
    }
    if (deleted.length === 0) {
      throw new RequestError(404, "Dataset not found");
    }
    return deleted;
  }

  async sweep(): Promise<boolean> {
    const retired = await this.#db.first(datasetQueries.findRetired, {});
    if (retired === undefined) {
      return false;
    }
    if (await this.#parts.examples.eraseSome(retired.id)) {
      for (const deletion of Object.values(datasetDeletions)) {
        await this.#db.run(deletion, retired);
      }
    }
    return true;
  }

  async share(tenantId: string, id: string): Promise<string> {
    const existing = readToken((await this.#versions.read(tenantId, id)).shareToken);
    if (existing !== null) {
      return existing;
    }
    const token = randomUUID();
    await this.#db.run(datasetQueries.setShare, {
      id,
      share_digest: digestToken(token),
      share_sealed: this.#parts.tokens.encrypt(token, tokenOwner.dataset(id)),
    });
    return token;
  }

  async unshare(tenantId: string, id: string): Promise<void> {
    await this.#versions.read(tenantId, id);
    await this.#db.run(datasetQueries.setShare, { id, share_digest: null, share_sealed: null });
  }

  async tag(
    tenantId: string,
    id: string,
    { asOf, tag }: { asOf: AsOf; tag: string },
  ): Promise<DatasetVersion> {
    const dataset = await this.#versions.read(tenantId, id);
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
    const dataset = await this.#versions.read(tenantId, id);
    const micros =
      tag === latestTag
        ? null
        : (await this.#versions.readVersion(dataset, { kind: "tag", tag })).micros;
    const lastKey = await this.#parts.index.begin(id);
    const index = JSON.stringify({ tag, micros });
    await this.#db.run(datasetQueries.setIndex, { id, index_json: index });
    return { after: 0, lastKey };
  }

  async extendIndex(
    tenantId: string,
    id: string,
    { after, lastKey }: IndexPosition,
  ): Promise<IndexPosition | undefined> {
    const dataset = await this.#versions.read(tenantId, id);
    const moment = dataset.index?.micros ?? null;
    const range = { after, lastKey, moment, limit: indexStep };
    const next = await this.#parts.index.extend(id, range);
    return next === undefined ? undefined : { after: next, lastKey };
  }
}
