import type { MessagePort } from "node:worker_threads";
import type { SerializedArguments } from "./argument-serialization.ts";
import type { PackedError } from "./packed-error.ts";

/** A call of a resource's method. */
export interface ResourceCall {
  readonly resource: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Messages that the blocked thread sends to the worker. */
export type SyncRequest =
  | (ResourceCall & SerializedArguments & { readonly kind: "call"; readonly id: number })
  /** Aborts a call whose caller no longer waits for it. */
  | { readonly kind: "cancel"; readonly id: number }
  /** Makes the worker reply with `pong`, which shows that it still runs. */
  | { readonly kind: "ping" };

/** Messages that the worker sends. After each one it increments the counter that the blocked thread waits on. */
export type SyncReply =
  | Outcome
  | { readonly kind: "pong" }
  | { readonly kind: "warned"; readonly message: string }
  /** The worker is ending. */
  | { readonly kind: "ended"; readonly reason: string };

/** Result of a call. */
export type Outcome =
  | { readonly kind: "answered"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly error: PackedError };

/** The worker's end of the channel, passed as worker data. */
export interface WorkerEnd {
  readonly port: MessagePort;
  /** A single 32-bit counter of the messages that the worker has sent. */
  readonly reports: SharedArrayBuffer;
}
