/** Kinds of work that a run can represent (docs/wire.md, "Runs"). */
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

/** The run type if none is specified. */
export const defaultRunType: RunType = "chain";

/** Fields that are sent as separate parts of a multipart request. */
export const payloadFields = [
  "inputs",
  "outputs",
  "events",
  "error",
  "extra",
  "serialized",
] as const;

/** One of {@link payloadFields}. */
export type PayloadField = (typeof payloadFields)[number];

/**
 * A record is the start or end of a run. `post` is a run's first record, `patch` a later record that completes the run.
 */
export type Operation = "post" | "patch";

/** Free-form JSON objects: inputs, outputs, metadata. */
export type KeyValues = Readonly<Record<string, unknown>>;

/** An event inside a run, such as a streamed token. */
export interface RunEvent {
  readonly name: string;
  /**
   * A time in ISO 8601 format.
   * @defaultValue the time of the call
   */
  readonly time?: string;
  readonly [detail: string]: unknown;
}

/** The member `extra` of a run in the wire format. */
export interface RunExtra {
  readonly runtime?: KeyValues;
  readonly metadata?: KeyValues;
  readonly [key: string]: unknown;
}

/**
 * A run in the wire format, as in the response of `GET /runs/{id}`.
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

/**
 * The known members of a run, without the index signature of {@link WireRun}. An interface of another
 * package has no index signature and would not be assignable to a type with one.
 */
export type RunMembers = {
  readonly [Key in keyof WireRun as string extends Key ? never : Key]?: WireRun[Key] | undefined;
};

/**
 * The argument of `createRun`: a {@link WireRun}. The types of other clients, such as LangChain's,
 * do not require the id, but it must be present nevertheless.
 */
export type WirePost = WireRun | (RunMembers & Pick<WireRun, "name" | "run_type">);

/**
 * The argument of `updateRun`: a part of a run. A key that is `undefined` changes nothing; `null`
 * clears the value.
 */
export type WirePatch = { readonly [Key in keyof WireRun]?: WireRun[Key] | undefined } | RunMembers;
