/** What kind of work a run is (specification, section 3; docs/wire.md, "Runs"). */
export const runTypes = [
  "chain",
  "llm",
  "tool",
  "retriever",
  "embedding",
  "prompt",
  "parser",
] as const;

/** One of {@link runTypes}. */
export type RunType = (typeof runTypes)[number];

/** The run type where none is given (specification, section 3). */
export const defaultRunType: RunType = "chain";

/** Fields that travel in a part of their own in a multipart request. */
export const payloadFields = [
  "inputs",
  "outputs",
  "events",
  "error",
  "extra",
  "serialized",
] as const;

export type PayloadField = (typeof payloadFields)[number];

/** A first record of a run, or a later record that completes it. */
export type Operation = "post" | "patch";

/** Free-form JSON objects: inputs, outputs, metadata. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** One thing that happened inside a run, such as a streamed token. */
export interface RunEvent {
  readonly name: string;
  /** ISO 8601; the moment of the call where it is left out. */
  readonly time?: string;
  readonly [detail: string]: unknown;
}

/** `extra` of a run on the wire. */
export interface RunExtra {
  readonly runtime?: KeyValues;
  readonly metadata?: KeyValues;
  readonly [key: string]: unknown;
}

/**
 * A run as the wire has it, as `GET /runs/{id}` answers.
 * Times are ISO 8601 with up to microseconds, or epoch milliseconds.
 */
export interface WireRun {
  readonly id: string;
  readonly name: string;
  readonly run_type: string;
  readonly start_time?: string | number | undefined;
  readonly end_time?: string | number | null | undefined;
  readonly inputs?: KeyValues | undefined;
  readonly outputs?: KeyValues | null | undefined;
  readonly error?: string | null | undefined;
  readonly extra?: RunExtra | undefined;
  readonly serialized?: unknown;
  readonly events?: readonly unknown[] | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly parent_run_id?: string | null | undefined;
  readonly trace_id?: string | undefined;
  readonly dotted_order?: string | undefined;
  readonly session_name?: string | undefined;
  readonly session_id?: string | undefined;
  readonly reference_example_id?: string | null | undefined;
  readonly child_runs?: readonly unknown[] | undefined;
  readonly [key: string]: unknown;
}

/** The members that a run is known to have. An interface of another package has no others. */
export type RunMembers = {
  readonly [Key in keyof WireRun as string extends Key ? never : Key]?: WireRun[Key] | undefined;
};

/**
 * What `createRun` takes: a {@link WireRun}. The types of other clients, LangChain's among them, do not
 * ask for the id; it has to be there all the same.
 */
export type WirePost = WireRun | (RunMembers & Pick<WireRun, "name" | "run_type">);

/** Part of a run: what `updateRun` takes. A key that is `undefined` changes nothing, `null` clears. */
export type WirePatch = { readonly [Key in keyof WireRun]?: WireRun[Key] | undefined } | RunMembers;
