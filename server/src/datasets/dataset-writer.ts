import { randomUUID } from "node:crypto";
import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import { latestTag } from "./dataset-version.ts";
import type {
  Dataset,
  DatasetChanges,
  DatasetDraft,
  DatasetWrites,
  IndexPosition,
} from "./dataset.ts";
import type { AsOf, DatasetVersion } from "./dataset-version.ts";
import type { LongWrite } from "../storage/long-write.ts";
import { digestToken, readToken } from "../storage/share-token.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import { DatasetTable } from "./dataset-table.ts";
import type { LargeExampleWriter } from "./examples/sqlite/large-example-writer.ts";
import { parseRows } from "../storage/sqlite/rows.ts";
import { toIds } from "../storage/row-keys.ts";
import { tokenOwners } from "../storage/sqlite/token-keys.ts";

/** Rows that one slice of indexing processes. */
const indexStep = 1_000;

/** Writes datasets, their shares, tags and search indexes. */
export class DatasetWriter implements DatasetWrites {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #table: DatasetTable;
  readonly #examples: LargeExampleWriter;
  readonly #statements;

  constructor(dependencies: DatasetWriteDependencies, examples: LargeExampleWriter) {
    const { db } = dependencies;
    this.#dependencies = dependencies;
    this.#table = new DatasetTable(dependencies);
    this.#examples = examples;
    this.#statements = {
      setToken: db.prepare(
        `UPDATE datasets SET share_digest = ?1, share_sealed = seal_token(?2, ${tokenOwners.dataset("id")})
         WHERE id = ?3`,
      ),
      dropToken: db.prepare(
        "UPDATE datasets SET share_digest = NULL, share_sealed = NULL WHERE id = ?",
      ),
      setTag: db.prepare(
        "INSERT OR REPLACE INTO dataset_tags (tenant_id, dataset_id, tag_json, at_us) VALUES (?, ?, ?, ?)",
      ),
      lastKey: db.prepare("SELECT coalesce(max(key), 0) FROM examples").raw(),
    };
  }

  create(tenantId: string, draft: DatasetDraft): Dataset {
    this.#dependencies.schemas.assertSchemas(draft);
    const key = this.#table.insert(tenantId, draft, "ready");
    return toIds(tenantId, this.#dependencies.versions.read(tenantId, key));
  }

  update(
    tenantId: string,
    id: string,
    { fields, examples: changes }: DatasetChanges,
  ): LongWrite<Dataset> {
    const dataset = { ...this.#dependencies.versions.read(tenantId, id), ...fields };
    this.#table.assertNameUnused(tenantId, id, dataset.name);
    return this.#examples.updateWith(tenantId, {
      dataset,
      changes,
      mustCheck: fields.inputsSchema !== undefined || fields.outputsSchema !== undefined,
      store: () => this.#table.update(id, dataset),
    });
  }

  deleteMany(tenantId: string, ids: readonly string[]): readonly string[] {
    const found = [...new Set(ids)].filter((id) => this.#dependencies.versions.find(tenantId, id));
    if (found.length === 0) {
      throw new RequestError(404, "Dataset not found");
    }
    found.forEach((id) => this.#table.retire(id));
    return found;
  }

  sweep(): boolean {
    const id = this.#table.findRetired();
    if (id === undefined) {
      return false;
    }
    const end = performance.now() + serverLimits.writeSliceMs;
    let keys: readonly number[];
    do {
      keys = this.#dependencies.table.listKeys(id, serverLimits.erasedPart);
      this.#dependencies.index.remove(keys);
      this.#dependencies.table.erase(keys, id);
    } while (keys.length > 0 && performance.now() < end);
    if (keys.length === 0) {
      this.#table.delete(id);
    }
    return true;
  }

  share(tenantId: string, id: string): string {
    const existing = readToken(this.#dependencies.versions.read(tenantId, id).shareToken);
    if (existing !== null) {
      return existing;
    }
    const token = randomUUID();
    this.#statements.setToken.run([digestToken(token), token, id]);
    return token;
  }

  unshare(tenantId: string, id: string): void {
    this.#dependencies.versions.read(tenantId, id);
    this.#statements.dropToken.run([id]);
  }

  tag(tenantId: string, id: string, { asOf, tag }: { asOf: AsOf; tag: string }): DatasetVersion {
    const { versions } = this.#dependencies;
    const dataset = versions.read(tenantId, id);
    const version = this.#readVersion(dataset, asOf);
    this.#statements.setTag.run([tenantId, id, JSON.stringify(tag), version.micros]);
    return { micros: version.micros, tags: versions.tagsAt(dataset, version.micros) };
  }

  beginIndex(tenantId: string, id: string, tag: string): IndexPosition {
    const dataset = this.#dependencies.versions.read(tenantId, id);
    const micros =
      tag === latestTag ? null : this.#readVersion(dataset, { kind: "tag", tag }).micros;
    this.#dependencies.index.begin(dataset, tag, micros);
    const lastKey = Number(parseRows(this.#statements.lastKey.all())[0]?.[0]);
    return { after: 0, lastKey };
  }

  extendIndex(
    tenantId: string,
    id: string,
    { after, lastKey }: IndexPosition,
  ): IndexPosition | undefined {
    const dataset = this.#dependencies.versions.read(tenantId, id);
    const moment = dataset.index?.micros ?? null;
    const next = this.#dependencies.index.extend(dataset, {
      after,
      lastKey,
      moment,
      limit: indexStep,
    });
    return next === undefined ? undefined : { after: next, lastKey };
  }

  #readVersion(dataset: Dataset, asOf: AsOf): DatasetVersion {
    const version = this.#dependencies.versions.findVersion(dataset, asOf);
    if (version === undefined) {
      throw new RequestError(404, "Dataset version not found");
    }
    return version;
  }
}
