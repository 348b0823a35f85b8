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
  | {
      readonly kind: "warned";
      readonly message: string;
      /** Warnings of one topic are logged at most once per `logRepeatMs`. */
      readonly topic?: string | undefined;
    }
  | FailedAttempt
  /** The worker is ending. */
  | { readonly kind: "ended"; readonly reason: string };

/** The last failed attempt of a call that has not ended. */
export interface FailedAttempt {
  readonly kind: "attempted";
  readonly id: number;
  /** Why the last attempt failed. */
  readonly error: PackedError;
  /** Whether the server may have acted on a request of the call. */
  readonly mayHaveTakenEffect: boolean;
}

/** Result of a call. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly id: number; readonly value: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly error: PackedError };

/** What the worker needs to exchange messages with the blocked thread; passed as worker data. */
export interface WorkerChannel {
  readonly port: MessagePort;
  /** Shared memory with one 32-bit counter: the number of messages that the worker has sent. */
  readonly messageCounter: SharedArrayBuffer;
}
