import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import type { LongWrite } from "../storage/long-write.ts";
import { rollBack } from "../storage/sqlite/connection.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { MissingChecksError } from "../datasets/examples/schemas/schema-checks.ts";
import type { MissingChecks } from "../datasets/examples/schemas/schema-checks.ts";
import { toFailure } from "../storage/thread-reply.ts";
import type { ThreadReply } from "../storage/thread-reply.ts";
import type { WriterCall } from "./writer-protocol.ts";

/** What the writer thread provides for its long writes. */
interface WriterCallbacks {
  readonly db: Connection;
  /** Throws if this call must not write now, because the database is damaged or the disk is full. */
  readonly beforeSlice: (call: WriterCall, isUndo: boolean) => void;
  readonly onFailure: (cause: unknown) => void;
  /**
   * If `cause` means that the disk is full, frees the reserved disk space. Returns whether the write can be tried
   * again.
   */
  readonly freeSpace: (cause: unknown) => boolean;
  /** Whether the write can be restarted after some of its slices were committed. */
  readonly canRestart: (call: WriterCall) => boolean;
  /** Converts a failure to the error that the caller receives. */
  readonly toReportedCause: (call: WriterCall, cause: unknown) => unknown;
  /** Runs calls as if they had just arrived. */
  readonly runCalls: (calls: readonly WriterCall[]) => void;
  /** Runs a slice as soon as no other transaction is open. */
  readonly enqueueSlice: (slice: () => void) => void;
  /** Whether each slice must be as small as possible, so that it fits on a nearly full disk. */
  readonly isLowOnSpace: () => boolean;
  /** Called after each slice. */
  readonly onSlice: (call: WriterCall) => void;
  /** Called when a write ends, with its reply and the calls that were deferred because of it. */
  readonly onEnd: (call: WriterCall, reply: ThreadReply, deferred: readonly WriterCall[]) => void;
}

/** Number of times that a write is retried, each time with smaller slices. */
const maxRetries = 4;

interface ActiveWrite {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
  steps: Generator<void, unknown>;
  /** Set if the write failed: its committed slices are then undone. */
  failure?: { readonly cause: unknown };
  readonly deferredCalls: WriterCall[];
}

/**
 * Runs the long writes on the writer thread. In each turn of the event loop, one long write runs one slice, which is
 * one transaction; other writes run between the slices.
 *
 * States of a write: active -> done, or active -> failed -> undone -> done.
 */
export class LongWrites {
  readonly #callbacks: WriterCallbacks;
  /** The active writes, in the order in which they run their next slice. */
  readonly #active: ActiveWrite[] = [];
  /** How often each write was retried. */
  readonly #attempts = new WeakMap<WriterCall, number>();
  #turn: NodeJS.Immediate | undefined;

  constructor(callbacks: WriterCallbacks) {
    this.#callbacks = callbacks;
  }

  /**
   * Starts a long write. If it conflicts with an active long write, it starts again from its beginning once the active
   * one has ended.
   */
  add(call: WriterCall, write: LongWrite<unknown>): void {
    if (this.deferIfConflicting(call)) {
      return;
    }
    this.#active.push({ call, write, steps: write.steps, deferredCalls: [] });
    this.#schedule();
  }

  /**
   * Defers a call that must not run between the slices of an active long write: a write of the same tenant to the
   * same resources, which the long write may have read already. Returns whether the call was deferred.
   */
  deferIfConflicting(call: WriterCall): boolean {
    const blocking = this.#active.find((active) => areConflicting(active.call, call));
    blocking?.deferredCalls.push(call);
    return blocking !== undefined;
  }

  /** Whether a long write is active. */
  get isBusy(): boolean {
    return this.#active.length > 0;
  }

  /**
   * Aborts all long writes, because the server is closing. Returns an error reply for each aborted and each deferred
   * call. When the server starts again, it erases the rows that an aborted write has staged (`ExampleStages`).
   */
  abortAll(): readonly ThreadReply[] {
    clearImmediate(this.#turn);
    const cause = new RequestError(503, "the server is closing");
    return this.#active
      .splice(0)
      .flatMap(({ call, deferredCalls }) => [call, ...deferredCalls])
      .map(({ sequence }) => toFailure(sequence, cause));
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#callbacks.enqueueSlice(() => {
        const active = this.#active.shift();
        if (active !== undefined) {
          this.#runNextSlice(active);
        }
        if (this.#active.length > 0) {
          this.#schedule();
        }
      });
    });
  }

  #runNextSlice(active: ActiveWrite): void {
    const { db, beforeSlice, isLowOnSpace, onFailure, onSlice } = this.#callbacks;
    let step: IteratorResult<void, unknown>;
    try {
      beforeSlice(active.call, active.failure !== undefined);
      db.exec("BEGIN IMMEDIATE");
      step = runSlice(active.steps, isLowOnSpace());
      db.exec("COMMIT");
    } catch (cause) {
      rollBack(db);
      onFailure(cause);
      this.#handleFailure(active, cause);
      return;
    }
    onSlice(active.call);
    if (step.done === true) {
      this.#finish(active, step.value);
    } else {
      this.#active.push(active);
    }
  }

  #handleFailure(active: ActiveWrite, cause: unknown): void {
    const { call, failure, deferredCalls } = active;
    const attempts = this.#attempts.get(call) ?? 0;
    this.#attempts.set(call, attempts + 1);
    const canRetry = attempts < maxRetries && this.#callbacks.freeSpace(cause);
    if (failure === undefined && this.#callbacks.canRestart(call) && canRetry) {
      this.#callbacks.runCalls([call, ...deferredCalls]);
      return;
    }
    if (failure !== undefined && !canRetry) {
      // The undo failed as well, for example on a full disk. What the write has committed is erased when the server
      // starts again.
      this.#finish(active, undefined);
      return;
    }
    active.failure = failure ?? { cause: this.#callbacks.toReportedCause(call, cause) };
    active.steps = active.write.undo();
    this.#active.push(active);
  }

  #finish({ call, failure, deferredCalls }: ActiveWrite, value: unknown): void {
    const { sequence } = call;
    const cause = failure?.cause;
    if (failure === undefined) {
      this.#callbacks.onEnd(call, { kind: "result", sequence, value }, deferredCalls);
    } else if (cause instanceof MissingChecksError) {
      const missing: MissingChecks = { missingChecks: cause.missingChecks };
      this.#callbacks.onEnd(call, { kind: "result", sequence, value: missing }, deferredCalls);
    } else {
      this.#callbacks.onEnd(call, toFailure(sequence, cause), deferredCalls);
    }
  }
}

/** Runs steps until the time of the slice is over or the write is complete. A short slice is one step. */
function runSlice(
  steps: Generator<void, unknown>,
  isShort: boolean,
): IteratorResult<void, unknown> {
  const endMs = isShort ? 0 : performance.now() + serverLimits.writeSliceMs;
  let step = steps.next();
  while (step.done !== true && performance.now() < endMs) {
    step = steps.next();
  }
  return step;
}

/** Maps resources to groups. Writes of one tenant conflict if their resources are in the same group. */
const conflictGroups: ReadonlyMap<string, string> = new Map([
  ["datasets", "datasets"],
  ["examples", "datasets"],
  ["largeExamples", "datasets"],
  ["uploads", "datasets"],
]);

function areConflicting({ request: long }: WriterCall, { request }: WriterCall): boolean {
  return (
    long.kind === "write" &&
    request.kind === "write" &&
    conflictGroups.has(request.resource) &&
    conflictGroups.get(request.resource) === conflictGroups.get(long.resource) &&
    request.args[0] === long.args[0]
  );
}
