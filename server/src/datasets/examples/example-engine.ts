import type { Expression } from "kysely";
import type { CheckedFilter } from "../../filter/checker.ts";
import type { LongWrite } from "../../storage/long-write.ts";
import type { Dataset } from "../dataset.ts";
import type { Attachment } from "./example.ts";
import type { ScopeValues } from "./example-conditions.ts";
import type { ExampleRow } from "./example-queries.ts";

// What each engine does in its own way with examples. Everything else is written once, in `ExampleReader` and
// `ExampleWriter`.

/** The example to which a file belongs. */
export interface FileOwner {
  readonly tenantId: string;
  readonly datasetId: string;
  readonly id: string;
}

/** Searches examples. */
export interface ExampleTextSearch {
  /** Compiles a filter expression into a condition on the row `e` of an example. */
  compile(filter: CheckedFilter): Expression<boolean>;
  /** Returns the examples whose inputs match the words best, the best match first. */
  match(
    scope: ScopeValues,
    search: {
      readonly conditions: readonly Expression<boolean>[];
      readonly words: readonly string[];
      readonly limit: number;
    },
  ): Promise<readonly ExampleRow[]>;
}

/** Writes of examples whose methods differ between the engines. It may return its results at once or later. */
export interface ExampleWriteEngine {
  /** Assigns consecutive keys to new rows, and returns the first. Keys are never reused. */
  assignKeys(count: number): number | Promise<number>;
  /** Makes the rows with new keys findable by their ids. */
  indexNewIds(): void | Promise<void>;
  /** Updates the index of words after a write, if it follows the newest version of the dataset. */
  updateTextIndex(
    dataset: Dataset,
    rows: { readonly added: readonly number[]; readonly removed: readonly number[] },
  ): void | Promise<void>;
  /** Copies an attachment of a run; `undefined` if the run has none of that name. */
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
