import { isDeepStrictEqual } from "node:util";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { Dataset } from "../../dataset.ts";
import type {
  Attachment,
  ExampleChange,
  ExampleDraft,
  ExamplesWritten,
  ExampleTimes,
  ExampleWrites,
} from "../example.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import type { SqliteDatasetVersions } from "./dataset-versions.ts";
import { changeExample } from "../example-change.ts";
import type { ExampleIndex } from "./example-index.ts";
import type { CurrentExample, ExampleTable } from "./example-table.ts";
import type { SchemaProofs } from "../schema-proofs.ts";
import type { TenantKeyWriter } from "../../../storage/sqlite/tenant-keys.ts";
import { VersionDraft } from "./version-draft.ts";

/** Writes examples. Each call creates one version of each dataset that it changes. */
export class ExampleWriter implements ExampleWrites {
  readonly #ledger: SqliteDatasetVersions;
  readonly #keys: TenantKeyWriter;
  readonly #table: ExampleTable;
  readonly #index: ExampleIndex;
  readonly #schemas: SchemaProofs;

  constructor({ versions, table, index, schemas, keys }: DatasetWriteDependencies) {
    this.#keys = keys;
    this.#ledger = versions;
    this.#table = table;
    this.#index = index;
    this.#schemas = schemas;
  }

  create(tenantId: string, drafts: readonly ExampleDraft[]): ExamplesWritten {
    const datasets = this.#readDatasets(tenantId, drafts);
    const { created, existing } = this.#classifyDrafts(tenantId, drafts);
    const versions = new Map<string, VersionDraft>();
    for (const [id, dataset] of datasets) {
      const ofDataset = created.filter(({ datasetId }) => datasetId === id);
      this.#schemas.assertFit(dataset, ofDataset);
      if (ofDataset.length > 0) {
        const requested = ofDataset.reduce(
          (max, { createdMicros = 0 }) => Math.max(max, createdMicros),
          0,
        );
        versions.set(id, this.#beginVersion(dataset, requested));
      }
    }
    for (const draft of created) {
      const { createdMicros, runAttachments: _names, isNew: _isNew, ...row } = draft;
      const version = versions.get(draft.datasetId);
      version?.add({
        ...row,
        tenantId,
        createdMicros: createdMicros ?? version.micros,
        attachments: this.attach(tenantId, draft),
      });
    }
    return this.#finishVersions(datasets, versions, existing);
  }

  check(
    tenantId: string,
    datasetId: string,
    drafts: readonly ExampleDraft[],
  ): Readonly<Record<string, string>> {
    return this.#schemas.findMisfits(this.#ledger.read(tenantId, datasetId), drafts);
  }

  update(tenantId: string, changes: readonly ExampleChange[], datasetId?: string): ExamplesWritten {
    const current = this.#readCurrent(
      tenantId,
      changes.map(({ id }) => id),
      datasetId,
    );
    const datasets = this.#readDatasets(tenantId, [
      ...current.values(),
      ...changes.flatMap(({ datasetId: id }) => (id === undefined ? [] : [{ datasetId: id }])),
    ]);
    const versions = new Map<string, VersionDraft>();
    const versionOf = (dataset: Dataset): VersionDraft => {
      const version = versions.get(dataset.id) ?? this.#beginVersion(dataset);
      versions.set(dataset.id, version);
      return version;
    };
    for (const change of changes) {
      const example = current.get(change.id);
      const from = example && datasets.get(example.datasetId);
      const to = from && datasets.get(change.datasetId ?? from.id);
      const changed = example && changeExample({ example, change, tenantId, table: this.#table });
      if (
        example !== undefined &&
        from !== undefined &&
        to !== undefined &&
        changed !== undefined
      ) {
        this.#schemas.assertFit(to, [changed]);
        versionOf(from).end(example.key);
        current.set(change.id, versionOf(to).add({ ...changed, datasetId: to.id }));
      }
    }
    return this.#finishVersions(datasets, versions, {});
  }

  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): LongWrite<readonly string[]> {
    return new LongWrite(this.#deleteAll(tenantId, [...new Set(ids)], mode));
  }

  /**
   * Removes the examples from the newest version in one step. A hard deletion then erases rows in slices; it can be
   * repeated after a crash.
   */
  *#deleteAll(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): Generator<void, readonly string[]> {
    const found: string[] = [];
    const keys: number[] = [];
    const current = new Map<string, number[]>();
    for (const part of inParts(ids)) {
      const rows = this.#table.findRows(tenantId, part);
      const deletable = mode === "soft" ? rows.filter(({ isCurrent }) => isCurrent) : rows;
      const existing = new Set(deletable.map(({ id }) => id));
      found.push(...part.filter((id) => existing.has(id)));
      for (const { key, datasetId, isCurrent } of rows) {
        keys.push(key);
        if (isCurrent) {
          const currentKeys = current.get(datasetId) ?? [];
          currentKeys.push(key);
          current.set(datasetId, currentKeys);
        }
      }
      yield;
    }
    if (found.length === 0) {
      throw new RequestError(404, "Example not found");
    }
    for (const [datasetId, currentKeys] of current) {
      const version = this.#beginVersion(this.#ledger.read(tenantId, datasetId));
      version.endAll(currentKeys);
      version.finish();
    }
    if (mode === "hard") {
      for (const part of inParts(keys)) {
        yield;
        this.#index.remove(part);
        this.#table.erase(part);
      }
    }
    return found;
  }

  #beginVersion(dataset: Dataset, requestedMicros?: number): VersionDraft {
    const tables = { versions: this.#ledger, table: this.#table, index: this.#index };
    return new VersionDraft({ dataset, ...tables }, requestedMicros);
  }

  #finishVersions(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, VersionDraft>,
    existing: Readonly<Record<string, ExampleTimes>>,
  ): ExamplesWritten {
    versions.forEach((version) => version.finish());
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.micros ?? versionMicros ?? createdMicros;
      return [id, { name, micros }] as const;
    });
    return { datasets: Object.fromEntries(entries), existing };
  }

  /** @throws RequestError 404: the tenant has no such dataset. */
  #readDatasets(
    tenantId: string,
    examples: Iterable<{ readonly datasetId: string }>,
  ): Map<string, Dataset> {
    const ids = new Set([...examples].map(({ datasetId }) => datasetId));
    return new Map([...ids].map((id) => [id, this.#ledger.read(tenantId, id)]));
  }

  /** @throws RequestError 404: examples do not exist, or are in another dataset; the message lists their ids. */
  #readCurrent(
    tenantId: string,
    ids: readonly string[],
    datasetId: string | undefined,
  ): Map<string, CurrentExample> {
    const current = this.#table.findCurrent(tenantId, ids);
    const missing = ids.filter((id) => {
      const example = current.get(id);
      return example === undefined || (datasetId ?? example.datasetId) !== example.datasetId;
    });
    if (missing.length > 0) {
      throw new RequestError(404, `Example not found: ${nameIds(missing)}`);
    }
    return current;
  }

  /**
   * Separates drafts of new examples from identical ones that already exist.
   *
   * @throws RequestError 409: an example with the id exists and differs.
   */
  #classifyDrafts(
    tenantId: string,
    drafts: readonly ExampleDraft[],
  ): { created: ExampleDraft[]; existing: Record<string, ExampleTimes> } {
    const withOwnId = drafts.filter(({ isNew }) => !isNew);
    const current = this.#table.findCurrent(
      tenantId,
      withOwnId.map(({ id }) => id),
    );
    const seen = new Map<string, ExampleDraft>();
    const existing: Record<string, ExampleTimes> = {};
    const conflicting = withOwnId.filter((draft) => {
      const previous = seen.get(draft.id);
      seen.set(draft.id, previous ?? draft);
      const stored = current.get(draft.id);
      if (stored !== undefined) {
        const { createdMicros, modifiedMicros } = stored;
        existing[draft.id] = { createdMicros, modifiedMicros };
      }
      return (
        (previous !== undefined && !isSame(previous, draft)) ||
        (stored !== undefined && !this.isStored(stored, draft))
      );
    });
    if (conflicting.length > 0) {
      const ids = nameIds(conflicting.map(({ id }) => id));
      throw new RequestError(409, `different examples with these ids already exist: ${ids}`);
    }
    const created = drafts.filter(
      (draft) => draft.isNew || (seen.get(draft.id) === draft && existing[draft.id] === undefined),
    );
    return { created, existing };
  }

  /** Whether a draft equals the stored example. */
  isStored(stored: CurrentExample, draft: ExampleDraft): boolean {
    const files = draft.attachments ?? [];
    const names = draft.runAttachments ?? [];
    const storedFiles = new Map(stored.attachments.map((file) => [file.name, file]));
    return (
      isSame(stored, draft) &&
      storedFiles.size === files.length + names.length &&
      names.every((name) => storedFiles.has(name)) &&
      files.every(({ name, mimeType, bytes }) => {
        const file = storedFiles.get(name);
        return file?.mimeType === mimeType && this.#table.hasBytes(file, bytes);
      })
    );
  }

  /**
   * Stores the attachments of an example.
   *
   * @throws RequestError 404: its run has no such attachment.
   */
  attach(tenantId: string, draft: ExampleDraft): readonly Attachment[] {
    const { attachments = [], runAttachments = [], sourceRunId, datasetId, id } = draft;
    const owner = { tenantId, datasetId, id };
    const runKey = this.#keys.keyOf("run", tenantId, sourceRunId ?? "");
    const copied = runAttachments.map((name) => {
      const file = this.#table.attachFromRun(owner, runKey, name);
      if (file === undefined) {
        throw new RequestError(404, `run ${sourceRunId} has no attachment ${JSON.stringify(name)}`);
      }
      return file;
    });
    return [...copied, ...attachments.map((file) => this.#table.attach(owner, file))];
  }
}

type Content = Pick<ExampleDraft, "datasetId" | "inputs" | "outputs" | "metadata" | "sourceRunId">;

/** Whether two examples are identical except for their times, regardless of the order of members. */
const isSame = (a: Content, b: Content): boolean =>
  a.datasetId === b.datasetId &&
  a.sourceRunId === b.sourceRunId &&
  isSameJson(a.inputs, b.inputs) &&
  isSameJson(a.outputs ?? "null", b.outputs ?? "null") &&
  isSameJson(a.metadata, b.metadata);

/** Longer texts are compared as they are: parsing them would block other writes for too long. */
const isSameJson = (a: string, b: string): boolean =>
  a === b ||
  (a.length + b.length <= maxParsedChars && isDeepStrictEqual(JSON.parse(a), JSON.parse(b)));

const maxParsedChars = 262_144;

const maxListedIds = 10;

/** Lists the first ids, and the number of the others. */
export const nameIds = (ids: readonly string[]): string =>
  ids.slice(0, maxListedIds).join(", ") +
  (ids.length > maxListedIds ? ` and ${ids.length - maxListedIds} more` : "");

/** Yields groups small enough that other writes soon get a turn, whatever attachments the examples have. */
function* inParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += serverLimits.erasedPart) {
    yield items.slice(at, at + serverLimits.erasedPart);
  }
}
