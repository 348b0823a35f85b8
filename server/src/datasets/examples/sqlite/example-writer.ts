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
import type { DatasetWriting } from "../../dataset-writing.ts";
import type { DatasetLedger } from "../../dataset-ledger.ts";
import { changeExample } from "../example-change.ts";
import type { ExampleIndex } from "./example-index.ts";
import type { CurrentExample, ExampleTable } from "./example-table.ts";
import type { SchemaProofs } from "./schema-proofs.ts";
import type { TenantKeyWriter } from "../../../storage/sqlite/tenant-keys.ts";
import { VersionDraft } from "../../version-draft.ts";

/** Writes examples. Each call is one version of each dataset that it touches. */
export class ExampleWriter implements ExampleWrites {
  readonly #ledger: DatasetLedger;
  readonly #keys: TenantKeyWriter;
  readonly #table: ExampleTable;
  readonly #index: ExampleIndex;
  readonly #schemas: SchemaProofs;

  constructor({ ledger, table, index, schemas, keys }: DatasetWriting) {
    this.#keys = keys;
    this.#ledger = ledger;
    this.#table = table;
    this.#index = index;
    this.#schemas = schemas;
  }

  create(tenantId: string, drafts: readonly ExampleDraft[]): ExamplesWritten {
    const datasets = this.#readDatasets(tenantId, drafts);
    const { fresh, known } = this.#sortOut(tenantId, drafts);
    const versions = new Map<string, VersionDraft>();
    for (const [id, dataset] of datasets) {
      const own = fresh.filter(({ datasetId }) => datasetId === id);
      this.#schemas.assertFit(dataset, own);
      if (own.length > 0) {
        const said = own.reduce((last, { createdMicros = 0 }) => Math.max(last, createdMicros), 0);
        versions.set(id, this.#begin(dataset, said));
      }
    }
    for (const draft of fresh) {
      const { createdMicros, runAttachments: _names, isNew: _isNew, ...row } = draft;
      const version = versions.get(draft.datasetId);
      version?.add({
        ...row,
        tenantId,
        createdMicros: createdMicros ?? version.micros,
        attachments: this.attach(tenantId, draft),
      });
    }
    return this.#end(datasets, versions, known);
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
      const version = versions.get(dataset.id) ?? this.#begin(dataset);
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
    return this.#end(datasets, versions, {});
  }

  deleteMany(
    tenantId: string,
    ids: readonly string[],
    how: "soft" | "hard",
  ): LongWrite<readonly string[]> {
    return new LongWrite(this.#deleteAll(tenantId, [...new Set(ids)], how));
  }

  /** They leave the newest version in one step. What is erased goes part by part, and may be begun once more. */
  *#deleteAll(
    tenantId: string,
    ids: readonly string[],
    how: "soft" | "hard",
  ): Generator<void, readonly string[]> {
    const found: string[] = [];
    const keys: number[] = [];
    const current = new Map<string, number[]>();
    for (const part of inParts(ids)) {
      const rows = this.#table.findRows(tenantId, part);
      const inVersions = how === "soft" ? rows.filter(({ isCurrent }) => isCurrent) : rows;
      const known = new Set(inVersions.map(({ id }) => id));
      found.push(...part.filter((id) => known.has(id)));
      for (const { key, datasetId, isCurrent } of rows) {
        keys.push(key);
        if (isCurrent) {
          const own = current.get(datasetId) ?? [];
          own.push(key);
          current.set(datasetId, own);
        }
      }
      yield;
    }
    if (found.length === 0) {
      throw new RequestError(404, "Example not found");
    }
    for (const [datasetId, own] of current) {
      const version = this.#begin(this.#ledger.read(tenantId, datasetId));
      version.endAll(own);
      version.finish();
    }
    if (how === "hard") {
      for (const part of inParts(keys)) {
        yield;
        this.#index.remove(part);
        this.#table.erase(part);
      }
    }
    return found;
  }

  #begin(dataset: Dataset, saidMicros?: number): VersionDraft {
    const { ledger, table, index } = {
      ledger: this.#ledger,
      table: this.#table,
      index: this.#index,
    };
    return new VersionDraft({ dataset, ledger, table, index }, saidMicros);
  }

  #end(
    datasets: ReadonlyMap<string, Dataset>,
    versions: ReadonlyMap<string, VersionDraft>,
    known: Readonly<Record<string, ExampleTimes>>,
  ): ExamplesWritten {
    versions.forEach((version) => version.finish());
    const entries = [...datasets].map(([id, { name, versionMicros, createdMicros }]) => {
      const micros = versions.get(id)?.micros ?? versionMicros ?? createdMicros;
      return [id, { name, micros }] as const;
    });
    return { datasets: Object.fromEntries(entries), known };
  }

  /** @throws RequestError 404: one is not the tenant's. */
  #readDatasets(
    tenantId: string,
    examples: Iterable<{ readonly datasetId: string }>,
  ): Map<string, Dataset> {
    const ids = new Set([...examples].map(({ datasetId }) => datasetId));
    return new Map([...ids].map((id) => [id, this.#ledger.read(tenantId, id)]));
  }

  /** @throws RequestError 404: one is not there, or in another dataset; they are named. */
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

  /** Those that are new, and those that are there already. @throws RequestError 409: one is there, and another. */
  #sortOut(
    tenantId: string,
    drafts: readonly ExampleDraft[],
  ): { fresh: ExampleDraft[]; known: Record<string, ExampleTimes> } {
    const named = drafts.filter(({ isNew }) => !isNew);
    const current = this.#table.findCurrent(
      tenantId,
      named.map(({ id }) => id),
    );
    const seen = new Map<string, ExampleDraft>();
    const known: Record<string, ExampleTimes> = {};
    const taken = named.filter((draft) => {
      const before = seen.get(draft.id);
      seen.set(draft.id, before ?? draft);
      const stored = current.get(draft.id);
      if (stored !== undefined) {
        const { createdMicros, modifiedMicros } = stored;
        known[draft.id] = { createdMicros, modifiedMicros };
      }
      return (
        (before !== undefined && !isSame(before, draft)) ||
        (stored !== undefined && !this.isStored(stored, draft))
      );
    });
    if (taken.length > 0) {
      const ids = nameIds(taken.map(({ id }) => id));
      throw new RequestError(409, `there are examples of these ids that are not the same: ${ids}`);
    }
    const fresh = drafts.filter(
      (draft) => draft.isNew || (seen.get(draft.id) === draft && known[draft.id] === undefined),
    );
    return { fresh, known };
  }

  /** Whether a draft equals the stored example. */
  isStored(stored: CurrentExample, draft: ExampleDraft): boolean {
    const files = draft.attachments ?? [];
    const names = draft.runAttachments ?? [];
    const own = new Map(stored.attachments.map((file) => [file.name, file]));
    return (
      isSame(stored, draft) &&
      own.size === files.length + names.length &&
      names.every((name) => own.has(name)) &&
      files.every(({ name, mimeType, bytes }) => {
        const file = own.get(name);
        return file?.mimeType === mimeType && this.#table.hasBytes(file, bytes);
      })
    );
  }

  /** Stores the files of an example. @throws RequestError 404: its run has no such file. */
  attach(tenantId: string, draft: ExampleDraft): readonly Attachment[] {
    const { attachments = [], runAttachments = [], sourceRunId, datasetId, id } = draft;
    const owner = { tenantId, datasetId, id };
    const runKey = this.#keys.keyOf("run", tenantId, sourceRunId ?? "");
    const copied = runAttachments.map((name) => {
      const file = this.#table.attachOfRun(owner, runKey, name);
      if (file === undefined) {
        throw new RequestError(404, `run ${sourceRunId} has no attachment ${JSON.stringify(name)}`);
      }
      return file;
    });
    return [...copied, ...attachments.map((file) => this.#table.attach(owner, file))];
  }
}

type Content = Pick<ExampleDraft, "datasetId" | "inputs" | "outputs" | "metadata" | "sourceRunId">;

/** Whether two are the same but for their times: members may stand in another order. */
const isSame = (one: Content, other: Content): boolean =>
  one.datasetId === other.datasetId &&
  one.sourceRunId === other.sourceRunId &&
  isSameJson(one.inputs, other.inputs) &&
  isSameJson(one.outputs ?? "null", other.outputs ?? "null") &&
  isSameJson(one.metadata, other.metadata);

/** Longer texts are compared as they are: to read them would keep others from writing. */
const isSameJson = (one: string, other: string): boolean =>
  one === other ||
  (one.length + other.length <= comparedChars &&
    isDeepStrictEqual(JSON.parse(one), JSON.parse(other)));

const comparedChars = 262_144;

const idsNamed = 10;

/** The first of some ids, and how many there are beside. */
export const nameIds = (ids: readonly string[]): string =>
  ids.slice(0, idsNamed).join(", ") +
  (ids.length > idsNamed ? ` and ${ids.length - idsNamed} more` : "");

/** So few that others soon have their turn, whatever is attached to them. */
function* inParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += serverLimits.erasedPart) {
    yield items.slice(at, at + serverLimits.erasedPart);
  }
}
