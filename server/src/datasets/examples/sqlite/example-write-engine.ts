import type { ExampleWriteEngine, FileOwner } from "../example-engine.ts";
import { RequestError } from "../../../model/errors.ts";
import { serverLimits } from "../../../model/options.ts";
import { LongWrite } from "../../../storage/long-write.ts";
import type { Dataset } from "../../dataset.ts";
import { chooseVersionTime } from "../../dataset-version.ts";
import type { DatasetWriteDependencies } from "./dataset-writing.ts";
import type { Attachment } from "../example.ts";

/** Writes of examples that SQLite performs in its own way. */
export class SqliteExampleWriteEngine implements ExampleWriteEngine {
  readonly #dependencies: DatasetWriteDependencies;

  constructor(dependencies: DatasetWriteDependencies) {
    this.#dependencies = dependencies;
  }

  assignKeys(count: number): number {
    return this.#dependencies.table.assignKeys(count);
  }

  indexNewIds(): void {
    this.#dependencies.table.indexNewIds();
  }

  updateTextIndex(
    dataset: Dataset,
    rows: { readonly added: readonly number[]; readonly removed: readonly number[] },
  ): void {
    this.#dependencies.index.change(dataset, rows);
  }

  copyRunFile(owner: FileOwner, runKey: string, name: string): Attachment | undefined {
    return this.#dependencies.table.copyRunFile(owner, runKey, name);
  }

  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): LongWrite<readonly string[]> {
    return new LongWrite(this.#deleteAll(tenantId, ids, mode));
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
    const { table, index, versions } = this.#dependencies;
    const found: string[] = [];
    const keys: number[] = [];
    const current = new Map<string, number[]>();
    for (const part of inParts(ids)) {
      const rows = table.findRows(tenantId, part);
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
    for (const [datasetId, removed] of current) {
      const dataset = versions.read(tenantId, datasetId);
      const micros = chooseVersionTime(dataset.versionMicros, undefined);
      table.endAll(removed, micros);
      index.change(dataset, { added: [], removed });
      versions.addVersion(dataset, micros, -removed.length);
    }
    if (mode === "hard") {
      for (const part of inParts(keys)) {
        yield;
        index.remove(part);
        table.erase(part);
      }
    }
    return found;
  }
}

/** Yields groups small enough that other writes soon get a turn, whatever attachments the examples have. */
function* inParts<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += serverLimits.erasedPart) {
    yield items.slice(at, at + serverLimits.erasedPart);
  }
}
