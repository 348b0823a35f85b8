import { createHash } from "node:crypto";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import type { Dataset, DatasetUpdate } from "../../dataset.ts";
import { datasetQueries } from "../../dataset-queries.ts";
import { toDatasetColumns } from "../../dataset-row.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import type {
  ExampleChange,
  ExampleDraft,
  ExampleImportResult,
  ExampleWriteResult,
  ExampleTimes,
  SplitChange,
} from "../example.ts";
import { pack, unpack } from "../large-examples.ts";
import type { LargeExampleWrites, Packed, ReceivedExample } from "../large-examples.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { WithLongWrites } from "../../../storage/long-write.ts";
import { prepareQuery } from "../../../storage/sqlite/sqlite-database.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import { createChangedRow, toSplitChange } from "../example-change.ts";
import { ExampleStages } from "./example-stage.ts";
import type { ExampleStage } from "./example-stage.ts";
import { formatFirstIds } from "../example-rows.ts";
import type { CurrentExample } from "../example-rows.ts";
import type { SchemaChecks } from "../schemas/schema-checks.ts";
import { idOf } from "../../../storage/row-keys.ts";

type PackedResult = Packed<ExampleWriteResult>;
type WriteSteps<Result> = Generator<void, Result>;

/** The version of a dataset that a write creates. */
interface NewVersion {
  readonly dataset: Dataset;
  readonly timeMicros: number;
  /** By how much the number of examples changes. */
  countChange: number;
}

/**
 * {@link LargeExampleWrites} for the writer thread: each method resolves to a {@link LongWrite}, which runs in slices.
 */
export type LargeExampleWriteSteps = WithLongWrites<LargeExampleWrites, keyof LargeExampleWrites>;

/**
 * Writes many examples in slices: first all of them are checked, then their rows are staged, and finally all rows are
 * published in one step. No other write to the tenant's datasets runs in between. Staged rows are not visible yet; see
 * `ExampleStage`.
 */
export class LargeExampleWriter implements LargeExampleWriteSteps {
  readonly #dependencies: DatasetWriteDependencies;
  readonly #stages: ExampleStages;
  readonly #updateDataset;

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
    this.#stages = new ExampleStages(dependencies);
    this.#updateDataset = prepareQuery(dependencies.db, datasetQueries.update);
  }

  async create(
    tenantId: string,
    packedExampleParts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<LongWrite<PackedResult>> {
    const replaceDatasetId = this.#createKeyReplacer(tenantId);
    const listDraftParts = () =>
      packedExampleParts.map(
        (part) => () => unpack(part).map(({ draft }) => replaceDatasetId(draft)),
      );
    return this.#startLongWrite((schemas, openStage) =>
      this.#createInSteps({ tenantId, listDraftParts, schemaChecks: schemas, openStage }),
    );
  }

  async import(
    tenantId: string,
    datasetId: string,
    packedExampleParts: readonly Packed<readonly ReceivedExample[]>[],
  ): Promise<LongWrite<ExampleImportResult>> {
    const dataset = this.#dependencies.versions.readDataset(tenantId, datasetId);
    return this.#startLongWrite((schemas, openStage) =>
      this.#importInSteps({
        tenantId,
        dataset,
        parts: packedExampleParts,
        schemaChecks: schemas,
        openStage,
      }),
    );
  }

  async update(
    tenantId: string,
    packedChangeParts: readonly Packed<readonly ExampleChange[]>[],
    datasetId?: string,
  ): Promise<LongWrite<PackedResult>> {
    const replaceDatasetId = this.#createKeyReplacer(tenantId);
    const changeParts = packedChangeParts.map((part) => () => {
      const changes = unpack(part).map(replaceDatasetId);
      return this.#resolveChanges(tenantId, changes);
    });
    return this.#startLongWrite((schemas, openStage) =>
      this.#updateInSteps({
        tenantId,
        parts: changeParts,
        schemaChecks: schemas,
        openStage,
        datasetId,
      }),
    );
  }

  async updateSplits(
    tenantId: string,
    datasetId: string,
    { exampleIds, ...change }: SplitChange,
  ): Promise<LongWrite<readonly string[]>> {
    this.#dependencies.versions.readDataset(tenantId, datasetId);
    const parts = splitIntoParts([...new Set(exampleIds)]).map((ids) => () => {
      const currentExamples = this.#dependencies.exampleRows.findCurrent(tenantId, ids);
      const changes = ids.map((id) => toSplitChange(id, currentExamples.get(id), change));
      return { currentExamples, changes };
    });
    const changedIds: string[] = [];
    const onChange = (id: string): void => void changedIds.push(id);
    const context = { tenantId, parts, datasetId, onChange };
    return this.#startLongWrite((schemas, openStage) =>
      runAndReadResult(
        this.#updateInSteps({ ...context, schemaChecks: schemas, openStage }),
        () => changedIds,
      ),
    );
  }

  /** Updates a dataset and some of its examples in one write. */
  updateWith(tenantId: string, datasetUpdate: DatasetUpdate): LongWrite<Dataset> {
    const { changes, dataset } = datasetUpdate;
    const parts = splitIntoParts(changes).map((part) => () => this.#resolveChanges(tenantId, part));
    const context = { tenantId, parts, datasetId: dataset.id, datasetUpdate };
    return this.#startLongWrite((schemas, openStage) =>
      runAndReadResult(this.#updateInSteps({ ...context, schemaChecks: schemas, openStage }), () =>
        this.#dependencies.versions.readDataset(tenantId, dataset.id),
      ),
    );
  }

  /** Creates a function that replaces the dataset id in an object by the key of the dataset's row. */
  #createKeyReplacer(tenantId: string): <Item extends { datasetId?: string }>(item: Item) => Item {
    const keysById = new Map<string, string>();
    return (item) => {
      const { datasetId: id } = item;
      if (id === undefined) {
        return item;
      }
      const datasetId = keysById.get(id) ?? this.#dependencies.keys.keyOf("dataset", tenantId, id);
      keysById.set(id, datasetId);
      return datasetId === id ? item : { ...item, datasetId };
    };
  }

  #startLongWrite<Result>(
    createSteps: (schemas: SchemaChecks, openStage: () => ExampleStage) => WriteSteps<Result>,
  ): LongWrite<Result> {
    let stage: ExampleStage | undefined;
    const steps = createSteps(
      this.#dependencies.schemaChecks.copy(),
      () => (stage = this.#stages.begin()),
    );
    return new LongWrite(steps, function* undo() {
      if (stage !== undefined) {
        yield* stage.erase();
      }
    });
  }

  *#createInSteps({
    tenantId,
    listDraftParts,
    schemaChecks,
    openStage,
  }: CreateContext): WriteSteps<PackedResult> {
    const classified = yield* this.#classifyDrafts({
      tenantId,
      listDraftParts,
      schemaChecks,
    });
    const { datasets, existingTimes, newIds } = classified;
    const versions = new Map<string, NewVersion>();
    for (const [id, micros] of classified.requestedMicros) {
      this.#beginVersion(versions, getDataset(datasets, id), micros);
    }
    const stage = openStage();
    for (const part of listDraftParts()) {
      const keysByVersion = new Map<NewVersion, number[]>();
      for (const draft of part()) {
        const version = versions.get(draft.datasetId);
        // Drafts with the same id are identical, so only the first of them is stored.
        if (version !== undefined && (draft.hasGeneratedId || newIds.delete(draft.id))) {
          const { createdMicros = version.timeMicros, runAttachments: _names, ...row } = draft;
          const { hasGeneratedId: _isGenerated, attachments: _attachments, ...content } = row;
          const key = stage.add({
            ...content,
            tenantId,
            createdMicros,
            fromMicros: version.timeMicros,
            attachments: this.#dependencies.exampleRows.attachAll(tenantId, draft),
          });
          version.countChange += 1;
          addKey(keysByVersion, version, key);
        }
      }
      this.#finishPart(stage, keysByVersion);
      yield;
    }
    stage.publish();
    return this.#addVersions(datasets, versions, existingTimes);
  }

  *#importInSteps({
    dataset,
    parts,
    schemaChecks,
    ...context
  }: ImportContext): WriteSteps<ExampleImportResult> {
    const rejectionReasonsById: Record<string, string> = {};
    let count = 0;
    const readPart = (part: Packed<readonly ReceivedExample[]>): readonly ExampleDraft[] =>
      unpack(part).map(({ draft }) => ({ ...draft, datasetId: dataset.id }));
    for (const part of parts) {
      const drafts = readPart(part);
      count += drafts.length;
      Object.assign(rejectionReasonsById, schemaChecks.findErrors(dataset, drafts));
      yield;
    }
    schemaChecks.assertNoneMissing();
    const listDraftParts = () =>
      parts.map(
        (part) => () => readPart(part).filter(({ id }) => rejectionReasonsById[id] === undefined),
      );
    const written = unpack(yield* this.#createInSteps({ ...context, listDraftParts }));
    return {
      ...written,
      count: count - Object.keys(rejectionReasonsById).length,
      rejected: rejectionReasonsById,
    };
  }

  /** Checks all drafts, and determines which of them exist already. Writes nothing. */
  *#classifyDrafts({
    tenantId,
    listDraftParts,
    schemaChecks,
  }: Omit<CreateContext, "openStage">): WriteSteps<ClassifiedDrafts> {
    const datasets = new Map<string, Dataset>();
    const existingTimes: Record<string, ExampleTimes> = {};
    const requestedMicros = new Map<string, number>();
    const digestsById = new Map<string, string>();
    const newIds = new Set<string>();
    const conflictingIds: string[] = [];
    for (const part of listDraftParts()) {
      const newDraftsByDataset = new Map<string, ExampleDraft[]>();
      const draftsOfPart = part();
      const clientIds = draftsOfPart
        .filter(({ hasGeneratedId }) => !hasGeneratedId)
        .map(({ id }) => id);
      const currentExamples = this.#dependencies.exampleRows.findCurrent(tenantId, clientIds);
      for (const draft of draftsOfPart) {
        const { id, datasetId, createdMicros = 0 } = draft;
        this.#cacheDataset(datasets, tenantId, datasetId);
        const stored = draft.hasGeneratedId ? undefined : currentExamples.get(id);
        if (!draft.hasGeneratedId) {
          const digest = computeContentDigest(draft);
          const previousDigest = digestsById.get(id);
          if (previousDigest === undefined) {
            digestsById.set(id, digest);
          } else if (previousDigest !== digest) {
            conflictingIds.push(id);
          }
          if (stored !== undefined) {
            const times = {
              createdMicros: stored.createdMicros,
              modifiedMicros: stored.modifiedMicros,
            };
            existingTimes[id] = times;
            if (!this.#dependencies.exampleRows.isStored(stored, draft)) {
              conflictingIds.push(id);
            }
          }
          if (previousDigest !== undefined || stored !== undefined) {
            continue;
          }
          newIds.add(id);
        }
        requestedMicros.set(
          datasetId,
          Math.max(requestedMicros.get(datasetId) ?? 0, createdMicros),
        );
        const newDrafts = newDraftsByDataset.get(datasetId) ?? [];
        newDrafts.push(draft);
        newDraftsByDataset.set(datasetId, newDrafts);
      }
      newDraftsByDataset.forEach((newDrafts, id) =>
        schemaChecks?.requireValid(getDataset(datasets, id), newDrafts),
      );
      yield;
    }
    if (conflictingIds.length > 0) {
      throw new RequestError(
        409,
        `different examples with these ids already exist: ${formatFirstIds(conflictingIds)}`,
      );
    }
    schemaChecks?.assertNoneMissing();
    return { datasets, existingTimes, requestedMicros, newIds };
  }

  /** Validates the examples of the dataset that the update does not change. */
  *#checkOtherExamples(
    { dataset, changes }: DatasetUpdate,
    schemas: SchemaChecks,
  ): WriteSteps<void> {
    const changed = new Set(changes.map(({ id }) => id));
    for (const part of this.#dependencies.exampleRows.listCurrent(
      dataset.id,
      serverLimits.examplesPart,
    )) {
      schemas.requireValid(
        dataset,
        part.filter(({ id }) => !changed.has(id)),
      );
      yield;
    }
  }

  *#updateInSteps({
    tenantId,
    parts,
    schemaChecks,
    openStage,
    datasetId,
    datasetUpdate,
    onChange,
  }: UpdateContext): WriteSteps<PackedResult> {
    const datasets = new Map<string, Dataset>();
    if (datasetUpdate !== undefined) {
      datasets.set(datasetUpdate.dataset.id, datasetUpdate.dataset);
      schemaChecks.requireValidSchemas(datasetUpdate.dataset);
      if (datasetUpdate.mustCheckExamples) {
        yield* this.#checkOtherExamples(datasetUpdate, schemaChecks);
      }
    }
    const changedDatasetIds = new Set<string>();
    const seenIds = new Set<string>();
    const missingIds: string[] = [];
    for (const part of parts) {
      const rowsByDataset = new Map<
        string,
        { id: string; inputs: string; outputs: string | null }[]
      >();
      const { changes, currentExamples } = part();
      for (const change of changes) {
        assertFirstOccurrence(seenIds, change.id);
        const example = currentExamples.get(change.id);
        if (example === undefined || (datasetId ?? example.datasetId) !== example.datasetId) {
          missingIds.push(change.id);
          continue;
        }
        this.#cacheDataset(datasets, tenantId, example.datasetId);
        const targetDatasetId = change.datasetId ?? example.datasetId;
        this.#cacheDataset(datasets, tenantId, targetDatasetId);
        const row = createChangedRow({ example, change, tenantId });
        if (row !== undefined) {
          changedDatasetIds.add(example.datasetId).add(targetDatasetId);
          const rowsOfDataset = rowsByDataset.get(targetDatasetId) ?? [];
          rowsOfDataset.push(row);
          rowsByDataset.set(targetDatasetId, rowsOfDataset);
        }
      }
      rowsByDataset.forEach((list, id) =>
        schemaChecks.requireValid(getDataset(datasets, id), list),
      );
      yield;
    }
    if (missingIds.length > 0) {
      throw new RequestError(404, `Example not found: ${formatFirstIds(missingIds)}`);
    }
    schemaChecks.assertNoneMissing();
    const versions = new Map<string, NewVersion>();
    changedDatasetIds.forEach((id) => this.#beginVersion(versions, getDataset(datasets, id)));
    const stage = openStage();
    const endedKeysByVersion = new Map<NewVersion, number[]>();
    for (const part of parts) {
      const keysByVersion = new Map<NewVersion, number[]>();
      const { changes, currentExamples } = part();
      for (const change of changes) {
        const example = currentExamples.get(change.id);
        const row = example && createChangedRow({ example, change, tenantId });
        const sourceVersion = example && versions.get(example.datasetId);
        const targetVersion = row && versions.get(row.datasetId);
        if (
          example !== undefined &&
          row !== undefined &&
          sourceVersion !== undefined &&
          targetVersion !== undefined
        ) {
          const files = (change.attachments ?? []).map((file) =>
            this.#dependencies.exampleRows.attach(row, file),
          );
          const attachments = [...row.attachments, ...files];
          const key = stage.add({ ...row, attachments, fromMicros: targetVersion.timeMicros });
          targetVersion.countChange += 1;
          sourceVersion.countChange -= 1;
          addKey(keysByVersion, targetVersion, key);
          addKey(endedKeysByVersion, sourceVersion, example.key);
          onChange?.(change.id);
        }
      }
      this.#finishPart(stage, keysByVersion);
      yield;
    }
    if (datasetUpdate !== undefined) {
      const { dataset } = datasetUpdate;
      const columns = { ...toDatasetColumns(dataset), modified_us: Date.now() * 1_000 };
      this.#updateDataset.run({ id: dataset.id, ...columns });
    }
    endedKeysByVersion.forEach((keys, { timeMicros }) =>
      this.#dependencies.exampleRows.endAll(keys, timeMicros),
    );
    stage.publish();
    const written = this.#addVersions(datasets, versions, {});
    // Searches ignore replaced rows, so the entries of these rows in the text index can be removed last.
    for (const [{ dataset }, keys] of endedKeysByVersion) {
      for (let start = 0; start < keys.length; start += serverLimits.examplesPart) {
        yield;
        const removed = keys.slice(start, start + serverLimits.examplesPart);
        this.#dependencies.textIndex.update(dataset, { added: [], removed });
      }
    }
    return written;
  }

  #resolveChanges(tenantId: string, changes: readonly ExampleChange[]): ResolvedChanges {
    const ids = changes.map(({ id }) => id);
    return { changes, currentExamples: this.#dependencies.exampleRows.findCurrent(tenantId, ids) };
  }

  #finishPart(
    stage: ExampleStage,
    addedKeysByVersion: ReadonlyMap<NewVersion, readonly number[]>,
  ): void {
    stage.pause();
    addedKeysByVersion.forEach((added, { dataset }) =>
      this.#dependencies.textIndex.update(dataset, { added, removed: [] }),
    );
  }

  #cacheDataset(datasets: Map<string, Dataset>, tenantId: string, id: string): void {
    if (datasets.has(id)) {
      return;
    }
    if (datasets.size === serverLimits.datasetsOfWrite) {
      throw new RequestError(
        413,
        `the examples belong to more than ${serverLimits.datasetsOfWrite} datasets; send fewer in one request`,
      );
    }
    datasets.set(id, this.#dependencies.versions.readDataset(tenantId, id));
  }

  #beginVersion(
    versions: Map<string, NewVersion>,
    dataset: Dataset,
    requestedMicros?: number,
  ): void {
    const micros = chooseVersionTime(dataset.versionMicros, requestedMicros);
    versions.set(dataset.id, { dataset, timeMicros: micros, countChange: 0 });
  }

  #addVersions(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, NewVersion>,
    existingTimes: Readonly<Record<string, ExampleTimes>>,
  ): PackedResult {
    for (const { dataset, timeMicros, countChange } of versions.values()) {
      this.#dependencies.versions.addVersion(dataset, timeMicros, countChange);
    }
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.timeMicros ?? versionMicros ?? createdMicros;
      return [idOf(id), { name, micros }] as const;
    });
    return pack({ datasets: Object.fromEntries(entries), existingTimes });
  }
}

interface CreateContext {
  readonly tenantId: string;
  /**
   * Returns one function for each part of the drafts. The function unpacks the part. Each pass over the drafts unpacks
   * the parts again, so that not all drafts are in memory at once.
   */
  readonly listDraftParts: () => readonly (() => readonly ExampleDraft[])[];
  /** Omitted if the drafts were already checked. */
  readonly schemaChecks?: SchemaChecks | undefined;
  readonly openStage: () => ExampleStage;
}

interface ImportContext extends Omit<CreateContext, "listDraftParts"> {
  readonly schemaChecks: SchemaChecks;
  readonly dataset: Dataset;
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
}

interface UpdateContext extends Omit<CreateContext, "listDraftParts"> {
  readonly schemaChecks: SchemaChecks;
  readonly parts: readonly (() => ResolvedChanges)[];
  /** The dataset that must contain all of the examples. */
  readonly datasetId: string | undefined;
  /** A change to the dataset itself, in the same write. */
  readonly datasetUpdate?: DatasetUpdate;
  /** Called with the id of each example that this write changes. */
  readonly onChange?: (id: string) => void;
}

/** Some changes, and the examples that they change. */
interface ResolvedChanges {
  readonly changes: readonly ExampleChange[];
  /** The examples in their current version, by id. */
  readonly currentExamples: ReadonlyMap<string, CurrentExample>;
}

interface ClassifiedDrafts {
  readonly datasets: ReadonlyMap<string, Dataset>;
  /** Times of the identical examples that already exist, by example id. */
  readonly existingTimes: Readonly<Record<string, ExampleTimes>>;
  /**
   * For each dataset id, the latest creation time of its new examples, which becomes the time of the new version if
   * `chooseVersionTime` allows it.
   */
  readonly requestedMicros: ReadonlyMap<string, number>;
  /** The ids of the new examples whose ids the client has chosen; ids that the server generated are left out. */
  readonly newIds: Set<string>;
}

/** Runs steps, and then returns the result of `read` instead of the result of the steps. */
function* runAndReadResult<Result>(
  steps: WriteSteps<unknown>,
  read: () => Result,
): WriteSteps<Result> {
  yield* steps;
  return read();
}

function splitIntoParts<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const parts: (readonly Item[])[] = [];
  for (let start = 0; start < items.length; start += serverLimits.examplesPart) {
    parts.push(items.slice(start, start + serverLimits.examplesPart));
  }
  return parts;
}

function getDataset(datasets: ReadonlyMap<string, Dataset>, id: string): Dataset {
  const dataset = datasets.get(id);
  if (dataset === undefined) {
    throw new RequestError(404, "Dataset not found");
  }
  return dataset;
}

function addKey(keysByVersion: Map<NewVersion, number[]>, version: NewVersion, key: number): void {
  const keys = keysByVersion.get(version) ?? [];
  keys.push(key);
  keysByVersion.set(version, keys);
}

function assertFirstOccurrence(seenIds: Set<string>, id: string): void {
  if (seenIds.has(id)) {
    throw new RequestError(422, `example ${id} occurs twice in the list`);
  }
  seenIds.add(id);
}

/** Computes a digest of a draft's content. Drafts with the same id must have the same digest. */
function computeContentDigest(draft: ExampleDraft): string {
  const { datasetId, sourceRunId, inputs, outputs, metadata } = draft;
  return createHash("sha256")
    .update(JSON.stringify([datasetId, sourceRunId, inputs, outputs, metadata]))
    .digest("base64url");
}
