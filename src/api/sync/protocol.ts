import type { MessagePort } from "node:worker_threads";
import type { SerializedArguments } from "./argument-serialization.ts";
import type { PackedError } from "./packed-error.ts";

/** One call of a resource's method. */
export interface ResourceCall {
  readonly resource: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Messages of the blocked thread. */
export type SyncRequest =
  | (ResourceCall & SerializedArguments & { readonly kind: "call"; readonly id: number })
  /** Nobody waits for the call any more. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Asks for a sign of life. */
  | { readonly kind: "ping" };

/** What the worker says. After each report it raises the counter that the blocked thread waits on. */
export type SyncReply =
  | Outcome
  | { readonly kind: "pong" }
  | { readonly kind: "warned"; readonly message: string }
  /** It can't go on. */
  | { readonly kind: "ended"; readonly reason: string };

/** What a call came to. */
export type Outcome =
  | { readonly kind: "answered"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly error: PackedError };

/** The worker's end of what is between the two, as worker data. */
export interface WorkerEnd {
  readonly port: MessagePort;
  /** One 32-bit counter of reports. */
  readonly reports: SharedArrayBuffer;
}
