import type { Checked, Schemas } from "../datasets/schema-check.ts";
import type { Encoding } from "../otlp/decode.ts";
import type { Rejection } from "../store/run-record.ts";

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

/** Examples against the schemas of a dataset; the schemas alone where there are none. */
export interface SchemaTask {
  readonly kind: "schema";
  readonly schemas: Schemas;
  readonly examples: readonly Checked[];
  /** Whether what does not fit is listed by id, or refused. */
  readonly finds: "misfits" | "faults";
}

export type WorkTask = BatchTask | RunTask | SpansTask | SchemaTask;

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

/** What each kind of task answers. */
export type WorkResult<Task extends WorkTask> = Task extends SchemaTask ? Misfits : TakenRuns;

export type WorkMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly result: TakenRuns | Misfits }
  | { readonly kind: "refused"; readonly status: number; readonly detail: string };
