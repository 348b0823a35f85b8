import type { Dataset } from "./dataset.ts";
import type { DatasetLedger } from "./dataset-ledger.ts";
import type { ExampleIndex } from "./examples/sqlite/example-index.ts";
import type { CurrentExample, ExampleRow, ExampleTable } from "./examples/sqlite/example-table.ts";

interface Desk {
  readonly dataset: Dataset;
  readonly ledger: DatasetLedger;
  readonly table: ExampleTable;
  readonly index: ExampleIndex;
}

/** A version of a dataset that is being written: rows that end, rows that begin. */
export class VersionDraft {
  readonly micros: number;
  readonly #desk: Desk;
  readonly #added: number[] = [];
  readonly #removed: number[] = [];

  constructor(desk: Desk, saidMicros?: number) {
    this.#desk = desk;
    this.micros = desk.ledger.nextVersion(desk.dataset, saidMicros);
  }

  /** The row that is so from now on. */
  add(row: Omit<ExampleRow, "fromMicros">): CurrentExample {
    const key = this.#desk.table.insert({ ...row, fromMicros: this.micros });
    this.#added.push(key);
    return {
      ...row,
      key,
      position: row.position ?? key,
      modifiedMicros: this.micros,
      datasetName: this.#desk.dataset.name,
    };
  }

  /** The row of that key is not so any more. */
  end(key: number): void {
    this.#desk.table.end(key, this.micros);
    this.#removed.push(key);
  }

  /** The same of many rows. */
  endAll(keys: readonly number[]): void {
    this.#desk.table.endAll(keys, this.micros);
    keys.forEach((key) => this.#removed.push(key));
  }

  finish(): void {
    const { dataset, ledger, table, index } = this.#desk;
    table.place();
    index.change(dataset, { added: this.#added, removed: this.#removed });
    ledger.addVersion(dataset, this.micros, this.#added.length - this.#removed.length);
  }
}
