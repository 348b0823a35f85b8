import { RequestError } from "../model/errors.ts";
import { serverLimits } from "../model/options.ts";
import type { LongWrite } from "../storage/long-write.ts";
import { rollBack } from "../storage/sqlite/connection.ts";
import type { Connection } from "../storage/sqlite/connection.ts";
import { UncheckedWrite } from "../datasets/examples/sqlite/schema-proofs.ts";
import type { Unchecked } from "../datasets/examples/sqlite/schema-proofs.ts";
import { toFailure } from "../storage/thread-reply.ts";
import type { ThreadAnswer } from "../storage/thread-reply.ts";
import type { WriterCall } from "./writer-protocol.ts";

interface LongWritesHost {
  readonly db: Connection;
  /** Throws where nothing may be written any more, or not this. */
  readonly beforeSlice: (call: WriterCall, isUndo: boolean) => void;
  readonly onFailure: (cause: unknown) => void;
  /** Whether there is room on the disk again for a deletion that found it full. */
  readonly makeRoom: (cause: unknown) => boolean;
  /** Whether a write may be begun anew in the middle of it. */
  readonly mayBeginAnew: (call: WriterCall) => boolean;
  /** The error that the caller receives for a failure. */
  readonly causeOf: (call: WriterCall, cause: unknown) => unknown;
  /** Has calls performed from their beginning. */
  readonly perform: (calls: readonly WriterCall[]) => void;
  /** Whether slices are to be as small as can be, so that each fits on a disk that is nearly full. */
  readonly isShortOfRoom: () => boolean;
  /** After each slice. */
  readonly onSlice: (call: WriterCall) => void;
  /** Once for each write, with the calls that waited for it. */
  readonly onEnd: (call: WriterCall, answer: ThreadAnswer, held: readonly WriterCall[]) => void;
}

/** Each time with smaller steps. */
const attemptsMax = 4;

interface Active {
  readonly call: WriterCall;
  readonly write: LongWrite<unknown>;
  steps: Generator<void, unknown>;
  /** Why it failed: what it has written is being taken back. */
  failure?: { readonly cause: unknown };
  readonly held: WriterCall[];
}

/**
 * The long writes that are under way on the writer's thread. Each turn of the event loop one of them has
 * one slice, which is one transaction; what arrives meanwhile is written in between.
 *
 * A write: active -> done, or failed -> being undone -> answered.
 */
export class LongWrites {
  readonly #host: LongWritesHost;
  /** In the order of their turns. */
  readonly #active: Active[] = [];
  /** How often a write has been begun anew. */
  readonly #attempts = new WeakMap<WriterCall, number>();
  #turn: NodeJS.Immediate | undefined;

  constructor(host: LongWritesHost) {
    this.#host = host;
  }

  /** Takes it on; behind another one that it conflicts with it waits, and is begun anew. */
  add(call: WriterCall, write: LongWrite<unknown>): void {
    if (this.hold(call)) {
      return;
    }
    this.#active.push({ call, write, steps: write.steps, held: [] });
    this.#schedule();
  }

  /**
   * Keeps back what must not come between the slices of a long write: writes of the same tenant to the same
   * resources, which the long write has read already. False where the call need not wait.
   */
  hold(call: WriterCall): boolean {
    const waitedFor = this.#active.find((active) => conflicts(active.call, call));
    waitedFor?.held.push(call);
    return waitedFor !== undefined;
  }

  /** Whether any is under way. */
  get isBusy(): boolean {
    return this.#active.length > 0;
  }

  /** The answers to all that is under way: the server is closing. What is half written is cleared at the next start. */
  end(): readonly ThreadAnswer[] {
    clearImmediate(this.#turn);
    const cause = new RequestError(503, "the server is closing");
    return this.#active
      .splice(0)
      .flatMap(({ call, held }) => [call, ...held])
      .map(({ sequence }) => toFailure(sequence, cause));
  }

  #schedule(): void {
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      const active = this.#active.shift();
      if (active !== undefined) {
        this.#work(active);
      }
      if (this.#active.length > 0) {
        this.#schedule();
      }
    });
  }

  #work(active: Active): void {
    const { db, beforeSlice, isShortOfRoom, onFailure, onSlice } = this.#host;
    let step: IteratorResult<void, unknown>;
    try {
      beforeSlice(active.call, active.failure !== undefined);
      db.exec("BEGIN IMMEDIATE");
      step = runSlice(active.steps, isShortOfRoom());
      db.exec("COMMIT");
    } catch (cause) {
      rollBack(db);
      onFailure(cause);
      this.#onFailure(active, cause);
      return;
    }
    onSlice(active.call);
    if (step.done === true) {
      this.#finish(active, step.value);
    } else {
      this.#active.push(active);
    }
  }

  #onFailure(active: Active, cause: unknown): void {
    const { call, failure, held } = active;
    const attempts = this.#attempts.get(call) ?? 0;
    this.#attempts.set(call, attempts + 1);
    const isTried = attempts < attemptsMax && this.#host.makeRoom(cause);
    if (failure === undefined && this.#host.mayBeginAnew(call) && isTried) {
      this.#host.perform([call, ...held]);
      return;
    }
    if (failure !== undefined && !isTried) {
      // Not even this is possible, on a full disk, say: the rest is cleared at the next start.
      this.#finish(active, undefined);
      return;
    }
    active.failure = failure ?? { cause: this.#host.causeOf(call, cause) };
    active.steps = active.write.undo();
    this.#active.push(active);
  }

  #finish({ call, failure, held }: Active, value: unknown): void {
    const { sequence } = call;
    const cause = failure?.cause;
    if (failure === undefined) {
      this.#host.onEnd(call, { kind: "answer", sequence, value }, held);
    } else if (cause instanceof UncheckedWrite) {
      const unchecked: Unchecked = { unchecked: cause.needs };
      this.#host.onEnd(call, { kind: "answer", sequence, value: unchecked }, held);
    } else {
      this.#host.onEnd(call, toFailure(sequence, cause), held);
    }
  }
}

/** Goes on until the slice is over, or all is written; a short one is one step. */
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

/** Resources whose writes build on one another, by their name. */
const groups: ReadonlyMap<string, string> = new Map([
  ["datasets", "datasets"],
  ["examples", "datasets"],
  ["largeExamples", "datasets"],
  ["uploads", "datasets"],
]);

function conflicts({ request: long }: WriterCall, { request }: WriterCall): boolean {
  return (
    long.kind === "write" &&
    request.kind === "write" &&
    groups.has(request.resource) &&
    groups.get(request.resource) === groups.get(long.resource) &&
    request.args[0] === long.args[0]
  );
}
