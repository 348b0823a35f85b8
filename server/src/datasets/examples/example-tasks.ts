import type { WorkTask } from "../../storage/work-threads.ts";
import type { ExampleChange, ExamplesWritten } from "./example.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import type { SchemaInput, Schemas } from "./schemas/schema-validator.ts";

/** The format of a body that contains examples. */
export type ExamplesShape =
  | { readonly kind: "one"; readonly id?: string }
  | { readonly kind: "list" }
  | { readonly kind: "form"; readonly contentType: string | undefined };

export interface ExamplesBody {
  readonly body: Buffer;
  readonly shape: ExamplesShape;
  /** The dataset that the path names. */
  readonly datasetId?: string;
}

/** Parses the body of a request that creates or updates examples. */
export interface ExamplesTask extends Omit<ExamplesBody, "body">, WorkTask<ParsedExamples> {
  readonly kind: "examples";
  readonly chunks: readonly Uint8Array[];
  readonly operation: "create" | "update";
}

/** Parses the rows of a file; invalid rows are rejected one by one. */
export interface ExampleImportTask extends WorkTask<ParsedImport> {
  readonly kind: "exampleImport";
  readonly chunks: readonly Uint8Array[];
  readonly datasetId: string;
}

/**
 * Validates a list of examples against the schemas of its dataset; the result is a JSON object with the reason for
 * each invalid example, by id.
 */
export interface ExampleCheckTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleCheck";
  readonly chunks: readonly Uint8Array[];
  readonly datasetId: string;
  readonly schemas: Schemas;
}

/** Serializes the response to a large write of examples as JSON. */
export interface ExampleResponseTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleResponse";
  readonly responseForm: "list" | "created" | "written";
  readonly parts: ParsedExamples["parts"];
  readonly written: Packed<ExamplesWritten>;
}

/** Validates the schemas of a dataset, and examples against them. */
export interface SchemaTask extends WorkTask<SchemaErrors> {
  readonly kind: "schema";
  readonly schemas: Schemas;
  readonly examples: readonly Packed<readonly SchemaInput[]>[];
  readonly mode: SchemaCheckMode;
}

/** What an invalid example does to a check: `fail` makes the check fail, `report` adds it to the result. */
export type SchemaCheckMode = "fail" | "report";

/** Examples, or changes to examples, as they were sent. */
export interface ParsedExamples {
  readonly parts:
    | readonly Packed<readonly ReceivedExample[]>[]
    | readonly Packed<readonly ExampleChange[]>[];
  readonly count: number;
  /** Whether content of an example must be copied from a run. */
  readonly needsRun: boolean;
}

/** New examples, parsed from rows. */
export interface ParsedImport {
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
  /** The id of each example with the index of its row. */
  readonly rows: readonly (readonly [id: string, index: number])[];
  readonly rejected: readonly RejectedRow[];
}

/** A row that was rejected. */
export interface RejectedRow {
  readonly index: number;
  readonly reason: string;
}

/** Why examples do not match their schemas: the errors of each invalid example as one text, by example id. */
export type SchemaErrors = Readonly<Record<string, string>>;

/** UTF-8 bytes of a JSON text. */
export type JsonBytes = Uint8Array<ArrayBuffer>;
