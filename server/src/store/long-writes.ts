import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import type { LongWrite } from "../storage/long-write.ts";
import { rollBack } from "../storage/sqlite/connection.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { UncheckedWrite } from "../datasets/examples/schema-proofs.ts";
import type { Unchecked } from "../datasets/examples/schema-proofs.ts";
import { toFailure } from "../storage/thread-reply.ts";
import type { ThreadReply } from "../storage/thread-reply.ts";
import type { WriterCall } from "./writer-protocol.ts";

interface LongWritesHost {
  readonly db: Connection;
  /** Throws if this call must not write now: the database is damaged, or the disk is full. */
  readonly beforeSlice: (call: WriterCall, isUndo: boolean) => void;
  readonly onFailure: (cause: unknown) => void;
  /** Frees reserved disk space for a deletion that failed because the disk is full; returns whether to try again. */
  readonly freeSpaceFor: (cause: unknown) => boolean;
  /** Whether the write can be restarted after some of its slices were committed. */
  readonly canRestart: (call: WriterCall) => boolean;
  /** Converts a failure to the error that the caller receives. */
  readonly toReportedCause: (call: WriterCall, cause: unknown) => unknown;
  /** Runs calls from their beginning. */
  readonly run: (calls: readonly WriterCall[]) => void;
  /** Runs a slice when no other transaction is open. */
  readonly takeTurn: (slice: () => void) => void;
  /** Whether each slice must be as small as possible, so that it fits on a nearly full disk. */
  readonly isLowOnSpace: () => boolean;
  /** Called after each slice. */
  readonly onSlice: (call: WriterCall) => void;
  /** Called once for each write, with the calls that were deferred because of it. */
  readonly onEnd: (call: WriterCall, answer: ThreadReply, deferred: readonly WriterCall[]) => void;
}

/** Number of times that a write is retried, each time with smaller slices. */
const maxRetries = 4;

interface ActiveWrite {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
  steps: Generator<void, unknown>;
  /** Set if the write failed: its committed slices are being undone. */
  failure?: { readonly cause: unknown };
  readonly deferred: WriterCall[];
}

/**
 * Runs the long writes on the writer thread. In each turn of the event loop one of them runs one slice, which is one
 * transaction; other writes run in between.
 *
 * States of a write: active -> done, or failed -> being undone -> answered.
 */
export class LongWrites {
  readonly #host: LongWritesHost;
  /** In the order in which they get their next slice. */
  readonly #active: ActiveWrite[] = [];
  /** How often each write was retried. */
  readonly #attempts = new WeakMap<WriterCall, number>();
  #turn: NodeJS.Immediate | undefined;

  constructor(host: LongWritesHost) {
    this.#host = host;
  }

  /**
   * Starts a long write. If it conflicts with an active one, it is deferred until that one ends and then restarted.
   */
  add(call: WriterCall, write: LongWrite<unknown>): void {
    if (this.deferIfConflicting(call)) {
      return;
    }
    this.#active.push({ call, write, steps: write.steps, deferred: [] });
    this.#schedule();
  }

  /**
   * Defers a call that must not run between the slices of an active long write: a write of the same tenant to the
   * same resources, which the long write may have read already. Returns whether the call was deferred.
   */
  deferIfConflicting(call: WriterCall): boolean {
    const blocking = this.#active.find((active) => conflicts(active.call, call));
    blocking?.deferred.push(call);
    return blocking !== undefined;
  }

  /** Whether a long write is active. */
  get isBusy(): boolean {
    return this.#active.length > 0;
  }

  /**
   * Aborts all long writes and returns their results, because the server is closing. Committed slices of
   * incomplete writes are erased at the next start.
   */
  end(): readonly ThreadReply[] {
    clearImmediate(this.#turn);
    const cause = new RequestError(503, "the server is closing");
    return this.#active
      .splice(0)
      .flatMap(({ call, deferred }) => [call, ...deferred])
      .map(({ sequence }) => toFailure(sequence, cause));
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#host.takeTurn(() => {
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
    const { db, beforeSlice, isLowOnSpace, onFailure, onSlice } = this.#host;
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
    const { call, failure, deferred } = active;
    const attempts = this.#attempts.get(call) ?? 0;
    this.#attempts.set(call, attempts + 1);
    const canRetry = attempts < maxRetries && this.#host.freeSpaceFor(cause);
    if (failure === undefined && this.#host.canRestart(call) && canRetry) {
      this.#host.run([call, ...deferred]);
      return;
    }
    if (failure !== undefined && !canRetry) {
      // The undo failed as well, for example on a full disk: the next start erases the rest.
      this.#finish(active, undefined);
      return;
    }
    active.failure = failure ?? { cause: this.#host.toReportedCause(call, cause) };
    active.steps = active.write.undo();
    this.#active.push(active);
  }

  #finish({ call, failure, deferred }: ActiveWrite, value: unknown): void {
    const { sequence } = call;
    const cause = failure?.cause;
    if (failure === undefined) {
      this.#host.onEnd(call, { kind: "answer", sequence, value }, deferred);
    } else if (cause instanceof UncheckedWrite) {
      const unchecked: Unchecked = { unchecked: cause.needs };
      this.#host.onEnd(call, { kind: "answer", sequence, value: unchecked }, deferred);
    } else {
      this.#host.onEnd(call, toFailure(sequence, cause), deferred);
    }
  }
}

/** Runs steps until the time of the slice is used or the write is complete. A short slice is one step. */
function runSlice(
  steps: Generator<void, unknown>,
  isShort: boolean,
): IteratorResult<void, unknown> {
  const end = isShort ? 0 : performance.now() + serverLimits.writeSliceMs;
  let step = steps.next();
  while (step.done !== true && performance.now() < end) {
    step = steps.next();
  }
  return step;
}

/** Groups the resources whose writes depend on each other, by name. */
const conflictGroups: ReadonlyMap<string, string> = new Map([
  ["datasets", "datasets"],
  ["examples", "datasets"],
  ["largeExamples", "datasets"],
  ["uploads", "datasets"],
]);

function conflicts({ request: long }: WriterCall, { request }: WriterCall): boolean {
  return (
    long.kind === "write" &&
    request.kind === "write" &&
    conflictGroups.has(request.resource) &&
    conflictGroups.get(request.resource) === conflictGroups.get(long.resource) &&
    request.args[0] === long.args[0]
  );
}
