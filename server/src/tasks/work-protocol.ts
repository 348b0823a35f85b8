import type { Checked, Schemas } from "../examples/schema-check.ts";
import type { Encoding } from "../otlp/decode.ts";
import type { ExampleChange, ExamplesWritten } from "../examples/example.ts";
import type { Packed, ReceivedExample } from "../examples/large-examples.ts";
import type { Rejection } from "../runs/run-record.ts";

/** The body of `POST /runs/batch`. */
export interface BatchTask {
  readonly kind: "batch";
  readonly pieces: readonly Uint8Array[];
}

/** The body of a call of one run. */
export interface RunTask {
  readonly kind: "run";
  readonly pieces: readonly Uint8Array[];
  readonly operation: "post" | "patch";
  readonly pathId?: string;
}

/** The body of `POST /otel/v1/traces`. */
export interface SpansTask {
  readonly kind: "spans";
  readonly pieces: readonly Uint8Array[];
  readonly encoding: Encoding;
  readonly project: string | undefined;
}

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
export interface ExamplesTask extends Omit<ExamplesBody, "body"> {
  readonly kind: "examples";
  readonly pieces: readonly Uint8Array[];
  readonly operation: "create" | "update";
}

/** Rows of a file, of which those are taken that can be. */
export interface ExampleImportTask {
  readonly kind: "exampleImport";
  readonly pieces: readonly Uint8Array[];
  readonly datasetId: string;
}

/** A list of examples against the schemas of its dataset; answers by id why examples do not fit. */
export interface ExampleCheckTask {
  readonly kind: "exampleCheck";
  readonly pieces: readonly Uint8Array[];
  readonly datasetId: string;
  readonly schemas: Schemas;
}

/** What is to be answered to a large write of examples; the answer is JSON. */
export interface ExampleAnswerTask {
  readonly kind: "exampleAnswer";
  readonly form: "list" | "created" | "written";
  readonly parts: TakenExamples["parts"];
  readonly written: Packed<ExamplesWritten>;
}

/** Examples against the schemas of a dataset; the schemas alone where there are none. */
export interface SchemaTask {
  readonly kind: "schema";
  readonly schemas: Schemas;
  readonly examples: readonly Packed<readonly Checked[]>[];
  /** Whether what does not fit is listed by id, or refused. */
  readonly finds: "misfits" | "faults";
}

export type WorkTask =
  | BatchTask
  | RunTask
  | SpansTask
  | SchemaTask
  | ExamplesTask
  | ExampleCheckTask
  | ExampleImportTask
  | ExampleAnswerTask;

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

/** A body of runs, taken apart. What is stored stays packed: who passes it on to the writer has no work with it. */
export interface TakenRuns {
  /** A `RunBatch` without its bodies, serialized; absent where nothing of the body can be stored. */
  readonly packed: Uint8Array<ArrayBuffer> | undefined;
  readonly bodies: Uint8Array<ArrayBuffer>;
  readonly rejected: readonly Rejection[];
  /** What is wrong with spans that became no run. */
  readonly faults: readonly string[];
}

export type Misfits = Readonly<Record<string, string>>;

/** Text that is JSON. */
export type JsonBytes = Uint8Array<ArrayBuffer>;

interface WorkResults {
  readonly batch: TakenRuns;
  readonly run: TakenRuns;
  readonly spans: TakenRuns;
  readonly schema: Misfits;
  readonly examples: TakenExamples;
  readonly exampleCheck: JsonBytes;
  readonly exampleImport: TakenImport;
  readonly exampleAnswer: JsonBytes;
}

/** What each kind of task answers. */
export type WorkResult<Task extends WorkTask> = WorkResults[Task["kind"]];

export type WorkMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly result: WorkResults[keyof WorkResults] }
  | { readonly kind: "refused"; readonly status: number; readonly detail: string };
