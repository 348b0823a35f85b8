import type { WorkTask } from "../../storage/work-threads.ts";
import type { ExampleChange, ExamplesWritten } from "./example.ts";
import type { Packed, ReceivedExample } from "./large-examples.ts";
import type { Checked, Schemas } from "./schema-check.ts";

/** How a body holds examples. */
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

/** The body of a call that writes examples, or has them checked. */
export interface ExamplesTask extends Omit<ExamplesBody, "body">, WorkTask<TakenExamples> {
  readonly kind: "examples";
  readonly pieces: readonly Uint8Array[];
  readonly operation: "create" | "update";
}

/** Rows of a file, of which those are taken that can be. */
export interface ExampleImportTask extends WorkTask<TakenImport> {
  readonly kind: "exampleImport";
  readonly pieces: readonly Uint8Array[];
  readonly datasetId: string;
}

/** A list of examples against the schemas of its dataset; answers by id why examples do not fit. */
export interface ExampleCheckTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleCheck";
  readonly pieces: readonly Uint8Array[];
  readonly datasetId: string;
  readonly schemas: Schemas;
}

/** What is to be answered to a large write of examples; the answer is JSON. */
export interface ExampleAnswerTask extends WorkTask<JsonBytes> {
  readonly kind: "exampleAnswer";
  readonly form: "list" | "created" | "written";
  readonly parts: TakenExamples["parts"];
  readonly written: Packed<ExamplesWritten>;
}

/** Examples against the schemas of a dataset; the schemas alone where there are none. */
export interface SchemaTask extends WorkTask<Misfits> {
  readonly kind: "schema";
  readonly schemas: Schemas;
  readonly examples: readonly Packed<readonly Checked[]>[];
  /** Whether what does not fit is listed by id, or refused. */
  readonly finds: "misfits" | "faults";
}

/** Examples or changes of them, as they were sent. */
export interface TakenExamples {
  readonly parts:
    | readonly Packed<readonly ReceivedExample[]>[]
    | readonly Packed<readonly ExampleChange[]>[];
  readonly count: number;
  /** Whether something of them is to come from runs. */
  readonly needsRun: boolean;
}

/** Rows as examples that are new. */
export interface TakenImport {
  readonly parts: readonly Packed<readonly ReceivedExample[]>[];
  /** Ids of the examples, each with the place of its row. */
  readonly rows: readonly (readonly [id: string, index: number])[];
  readonly rejected: readonly RejectedRow[];
}

/** A row that is not taken. */
export interface RejectedRow {
  readonly index: number;
  readonly reason: string;
}

export type Misfits = Readonly<Record<string, string>>;

/** Text that is JSON. */
export type JsonBytes = Uint8Array<ArrayBuffer>;
