import { isUuid } from "../../model/ids.ts";
import type { RunAttachments } from "../../model/records/attachment.ts";
import type { KeyValues, RunType } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { HeldAttachments } from "../tape/held-attachments.ts";
import { toTags } from "../tape/payload.ts";
import type { Recorder } from "../tape/recorder.ts";
import { toMicros } from "./trace.ts";

/** Options for starting a run. All of them are optional. */
export interface RunOptions {
  /** A UUID of any version. @defaultValue a new UUID of version 7, also if the given id is not a UUID */
  readonly id?: string | undefined;
  /** @defaultValue the run type */
  readonly name?: string | undefined;
  /** @defaultValue `"chain"` */
  readonly runType?: RunType | undefined;
  readonly inputs?: KeyValues | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
  /**
   * The conversation that this run belongs to. Recorded as `metadata.thread_id`.
   *
   * @defaultValue the parent's
   */
  readonly threadId?: string | undefined;
  /**
   * The person that this run is for. Recorded as `metadata.user_id`.
   *
   * @defaultValue the parent's
   */
  readonly userId?: string | undefined;
  /** @defaultValue the parent's project, or the client's */
  readonly projectName?: string | undefined;
  /** The serialized component that runs, in LangChain's format. */
  readonly serialized?: unknown;
  /** The id of the dataset example that this run was evaluated on; a UUID. */
  readonly referenceExampleId?: string | undefined;
  /** Binary data that belongs to the inputs. It is copied during the call and sent with the run's start. */
  readonly attachments?: RunAttachments | undefined;
  /** Milliseconds since the Unix epoch, with fraction. For work that began before the call. @defaultValue now */
  readonly startTime?: number | Date | undefined;
}

/** The names in {@link RunOptions}. Any other option name causes a warning. */
export const runOptionNames: KeyTable<RunOptions> = {
  id: 1,
  name: 1,
  runType: 1,
  inputs: 1,
  tags: 1,
  metadata: 1,
  threadId: 1,
  userId: 1,
  projectName: 1,
  serialized: 1,
  referenceExampleId: 1,
  attachments: 1,
  startTime: 1,
};

/** Options for ending a run. All of them are optional. */
export interface EndOptions {
  /** Milliseconds since the Unix epoch, with fraction. @defaultValue now */
  readonly endTime?: number | Date | undefined;
  /** Binary data that belongs to the outputs. It replaces earlier attachments of the same name. */
  readonly attachments?: RunAttachments | undefined;
}

/** The names in {@link EndOptions}. Any other option name causes a warning. */
export const endOptionNames: KeyTable<EndOptions> = { endTime: 1, attachments: 1 };

/** How a run ended. `error` is present if it failed. */
export interface RunEnd {
  readonly outputs: unknown;
  readonly error?: string;
  readonly options: EndOptions | undefined;
}

/** Returns the name, or `undefined` if it is empty or not a string. */
export const readName = (name: unknown): string | undefined =>
  typeof name === "string" && name !== "" ? name : undefined;

/** Returns the caller's id in lower case. An id that is not a UUID is reported and ignored. */
export function readId(id: unknown, runRecorder: Recorder): string | undefined {
  if (id === undefined || id === null) {
    return undefined;
  }
  if (!isUuid(id)) {
    runRecorder.warn("invalidOption", "An id that is not a UUID was ignored.");
    return undefined;
  }
  return id.toLowerCase();
}

/**
 * Reports options of a run whose values are ignored because they have the wrong type. Only a caller without
 * TypeScript's checks can pass such values.
 */
export function warnOfWrongValues(
  { name, runType, tags, startTime }: RunOptions,
  runRecorder: Recorder,
): void {
  if (tags !== undefined && tags !== null && toTags(tags) === undefined) {
    warnOfWrongValue("tags", "a list of texts", runRecorder);
  }
  if (startTime !== undefined && startTime !== null && readStartTime(startTime) === undefined) {
    warnOfWrongValue("startTime", "a valid Date or a number of milliseconds", runRecorder);
  }
  if (name !== undefined && name !== null && typeof name !== "string") {
    warnOfWrongValue("name", "a text", runRecorder);
  }
  if (runType !== undefined && runType !== null && typeof runType !== "string") {
    warnOfWrongValue("runType", "a text", runRecorder);
  }
}

const warnOfWrongValue = (option: string, allowed: string, runRecorder: Recorder): void =>
  runRecorder.warn(
    "invalidOption",
    `The option ${option} of a run must be ${allowed}; it was ignored.`,
  );

/** The metadata key of each option that child runs inherit. */
const inheritedOptions = { threadId: "thread_id", userId: "user_id" } as const;

/** The metadata keys of the options that child runs inherit. */
export const inheritedKeys: readonly string[] = Object.values(inheritedOptions);

/**
 * Returns the metadata that the options `threadId` and `userId` add to a run and to all runs below it; `undefined`
 * without these options. A value that is empty or not a string is reported and ignored.
 */
export function readInheritedOptions(
  { threadId, userId }: RunOptions,
  runRecorder: Recorder,
): KeyValues | undefined {
  if (threadId === undefined && userId === undefined) {
    return undefined;
  }
  const metadata: Record<string, unknown> = {};
  for (const [name, value] of Object.entries({ threadId, userId })) {
    if (readName(value) !== undefined) {
      metadata[inheritedOptions[name as keyof typeof inheritedOptions]] = value;
    } else if (value !== undefined && value !== null) {
      runRecorder.warn(
        "invalidOption",
        `The option ${name} must be a text that is not empty; it was ignored.`,
      );
    }
  }
  return metadata;
}

/** Returns the option `endTime` in microseconds, or `undefined` if it is not a valid time. Never throws. */
export function readEndTime(options: EndOptions | undefined): number | undefined {
  try {
    return toMicros(options?.endTime);
  } catch {
    // The options can't be read. The run ends now.
    return undefined;
  }
}

/** Returns the option `startTime` in microseconds, or `undefined` if it is not a valid time. Never throws. */
export function readStartTime(time: unknown): number | undefined {
  try {
    return toMicros(time);
  } catch {
    // The time is a proxy that throws when it is read. The run starts now.
    return undefined;
  }
}

/**
 * Returns the attachments for a run's end: those attached while the run was open and those in the end options. Never
 * throws.
 */
export function readAttachments(
  earlierAttachments: unknown,
  options: EndOptions | undefined,
): unknown {
  const heldAttachments =
    earlierAttachments instanceof HeldAttachments ? earlierAttachments : undefined;
  let endAttachments: unknown;
  try {
    endAttachments = options?.attachments;
  } catch {
    // The options can't be read. The earlier attachments are still sent.
  }
  if (heldAttachments === undefined || endAttachments === undefined || endAttachments === null) {
    return endAttachments ?? heldAttachments?.all;
  }
  return typeof endAttachments === "object"
    ? { ...heldAttachments.all, ...endAttachments }
    : heldAttachments.all;
}
