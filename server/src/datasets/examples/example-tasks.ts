import type { WorkTask } from "../../storage/work-threads.ts";
import type { ExampleChange, ExampleWriteResult } from "./example.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import type { SchemaErrors, SchemaInput, Schemas } from "./schemas/schema-validator.ts";

/** The format of a request body that contains examples: one JSON object, a JSON list, or a multipart form. */
export type ExamplesFormat =
  | { readonly kind: "one"; readonly id?: string }
  | { readonly kind: "list" }
  | { readonly kind: "form"; readonly contentType: string | undefined };

/** A request body that contains examples, before it is parsed. */
export interface ExamplesBody {
  readonly body: Buffer;
  readonly format: ExamplesFormat;
  /** The dataset in the path of the request. */
  readonly datasetId?: string;
}

/** Parses the body of a request that creates or updates examples. */
export interface ExamplesTask extends Omit<ExamplesBody, "body">, WorkTask<ParsedExamples> {
  readonly kind: "examples";
  readonly chunks: readonly Uint8Array[];
  readonly operation: "create" | "update";
}

/** Parses the examples of an import. Rejects invalid examples, and keeps the others. */
export interface ExampleImportTask extends WorkTask<ParsedImport> {
  readonly kind: "exampleImport";
  readonly chunks: readonly Uint8Array[];
  readonly datasetId: string;
}

/**
 * Validates a list of examples against the schemas of a dataset. The result is the JSON of an object that contains the
 * errors of each invalid example, by its id.
 */
export interface ExampleCheckTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleCheck";
  readonly chunks: readonly Uint8Array[];
  readonly datasetId: string;
  readonly schemas: Schemas;
}

/** Serializes the response to a write of many examples. */
export interface ExampleResponseTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleResponse";
  readonly responseForm: "list" | "created" | "written";
  readonly parts: ParsedExamples["parts"];
  readonly packedResult: Packed<ExampleWriteResult>;
}

/** Validates the schemas of a dataset, and examples against them. */
export interface SchemaTask extends WorkTask<SchemaErrors> {
  readonly kind: "schema";
  readonly schemas: Schemas;
  readonly examples: readonly Packed<readonly SchemaInput[]>[];
  readonly mode: SchemaCheckMode;
}

/**
 * What happens if a check finds an invalid example: `fail` makes the check fail, `report` adds the errors to the
 * result.
 */
export type SchemaCheckMode = "fail" | "report";

/** The examples, or the changes to examples, in a request body. */
export interface ParsedExamples {
  readonly parts:
    | readonly Packed<readonly ReceivedExample[]>[]
    | readonly Packed<readonly ExampleChange[]>[];
  readonly count: number;
  /** Whether inputs, outputs or attachments of an example must be copied from its source run. */
  readonly needsSourceRun: boolean;
}

/** The examples of an import. */
export interface ParsedImport {
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
  /** The id of each valid example, with the index of its row in the import. */
  readonly rowIndexes: readonly (readonly [id: string, index: number])[];
  readonly rejected: readonly RejectedRow[];
}

/** A row of an import that is not a valid example. */
export interface RejectedRow {
  readonly index: number;
  readonly reason: string;
}

/** UTF-8 bytes of a JSON text. */
export type JsonBytes = Uint8Array<ArrayBuffer>;
