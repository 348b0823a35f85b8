import { isUuid } from "../../model/ids.ts";
import type { RunAttachments } from "../../model/records/attachment.ts";
import type { KeyValues, RunType } from "../../model/run.ts";
import type { KeyTable } from "../../model/unknown-keys.ts";
import { HeldAttachments } from "../tape/held-attachments.ts";
import type { Recorder } from "../tape/recorder.ts";
import { toMicros } from "./trace.ts";

/** What a run is started with. Nothing is required. */
export interface RunOptions {
  /** A UUID of any version; a fresh, ordered one where it is left out or is no UUID. */
  readonly id?: string | undefined;
  /** @defaultValue the run type */
  readonly name?: string | undefined;
  /** @defaultValue `"chain"` */
  readonly runType?: RunType | undefined;
  readonly inputs?: KeyValues | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: KeyValues | undefined;
  /** @defaultValue the parent's project, or the client's */
  readonly projectName?: string | undefined;
  /** How the thing that runs was built, as LangChain writes it. */
  readonly serialized?: unknown;
  /** The example of a dataset that this run is a try at; a UUID. */
  readonly referenceExampleId?: string | undefined;
  /** Binary data beside the inputs; copied now, and sent with the run's start. */
  readonly attachments?: RunAttachments | undefined;
  /** Milliseconds since the Unix epoch, with fraction; for work that began before the call. */
  readonly startTime?: number | Date | undefined;
}

/** The names of {@link RunOptions}. */
export const runOptionNames: KeyTable<RunOptions> = {
  id: 1,
  name: 1,
  runType: 1,
  inputs: 1,
  tags: 1,
  metadata: 1,
  projectName: 1,
  serialized: 1,
  referenceExampleId: 1,
  attachments: 1,
  startTime: 1,
};

export interface EndOptions {
  /** Milliseconds since the Unix epoch, with fraction. @defaultValue now */
  readonly endTime?: number | Date | undefined;
  /** Binary data beside the outputs, over what was attached under the same name. */
  readonly attachments?: RunAttachments | undefined;
}

/** The names of {@link EndOptions}. */
export const endOptionNames: KeyTable<EndOptions> = { endTime: 1, attachments: 1 };

/** How a run ended. */
export interface Ending {
  readonly outputs: unknown;
  readonly error?: string;
  readonly options: EndOptions | undefined;
}

/** A name that was given, in case it is one. */
export const readName = (name: unknown): string | undefined =>
  typeof name === "string" && name !== "" ? name : undefined;

/** The caller's id in small letters. An id that is not a UUID is reported and ignored. */
export function readId(id: unknown, recording: Recorder): string | undefined {
  if (id === undefined || id === null) {
    return undefined;
  }
  if (!isUuid(id)) {
    recording.warn("hiddenFailure", "An id that is no UUID was left out.");
    return undefined;
  }
  return id.toLowerCase();
}

/** The end time that was given, in microseconds, in case it is one. Never throws. */
export function readEndTime(options: EndOptions | undefined): number | undefined {
  try {
    return toMicros(options?.endTime);
  } catch {
    // Options that can't be read; the run ends now.
    return undefined;
  }
}

/** A start time that was given, in microseconds, in case it is one. Never throws. */
export function startTimeOf(time: unknown): number | undefined {
  try {
    return toMicros(time);
  } catch {
    // A proxy that refuses to be looked at; the run starts now.
    return undefined;
  }
}

/** What goes with a run's end: what was attached before, and what the end was given. Never throws. */
export function readAttachments(before: unknown, options: EndOptions | undefined): unknown {
  const held = before instanceof HeldAttachments ? before : undefined;
  let given: unknown;
  try {
    given = options?.attachments;
  } catch {
    // Options that can't be read; what was attached before goes all the same.
  }
  if (held === undefined || given === undefined || given === null) {
    return given ?? held?.all;
  }
  return typeof given === "object" ? { ...held.all, ...given } : held.all;
}
