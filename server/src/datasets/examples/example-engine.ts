import type { Expression } from "kysely";
import type { CheckedFilter } from "../../filter/checker.ts";
import type { LongWrite } from "../../storage/long-write.ts";
import type { Dataset } from "../dataset.ts";
import type { Attachment } from "./example.ts";
import type { ScopeValues } from "./example-conditions.ts";
import type { ExampleRow } from "./example-queries.ts";

// The operations on examples that each database engine implements itself. All others are written once for every engine,
// in `ExampleReader` and `ExampleWriter`.

/** Identifies the example to which an attachment belongs. */
export interface FileOwner {
  readonly tenantId: string;
  readonly datasetId: string;
  readonly id: string;
}

export interface ExampleTextSearch {
  /** Compiles a filter expression into a condition on the row `e` of an example. */
  compile(filter: CheckedFilter): Expression<boolean>;
  /** Returns the examples whose inputs match the search terms best, the best match first. */
  match(
    scope: ScopeValues,
    search: {
      readonly conditions: readonly Expression<boolean>[];
      readonly terms: readonly string[];
      readonly limit: number;
    },
  ): Promise<readonly ExampleRow[]>;
}

/**
 * The writes to examples that each database engine implements itself. An engine may return its results at once or as
 * promises.
 */
export interface ExampleWriteEngine {
  /** Assigns consecutive keys to new rows, and returns the first key. Keys are never reused. */
  assignKeys(count: number): number | Promise<number>;
  /** Indexes the rows that were inserted, so that queries find them by their ids. */
  indexNewIds(): void | Promise<void>;
  /** Updates the full-text index after a write, if the index follows the newest version of the dataset. */
  updateTextIndex(
    dataset: Dataset,
    keys: { readonly added: readonly number[]; readonly removed: readonly number[] },
  ): void | Promise<void>;
  /** Copies an attachment from a run to an example. Returns `undefined` if the run has no attachment of that name. */
  copyRunFile(
    owner: FileOwner,
    runKey: string,
    name: string,
  ): Attachment | undefined | Promise<Attachment | undefined>;
  deleteMany(
    tenantId: string,
    ids: readonly string[],
    mode: "soft" | "hard",
  ): LongWrite<readonly string[]>;
}
