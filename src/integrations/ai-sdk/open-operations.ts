import { onFlush } from "../../main/index.ts";
import type { RunTree } from "../../main/index.ts";

/** An operation whose stream the program may stop reading without a notification. */
interface AbandonableOperation {
  readonly run: RunTree;
  /** Whether nothing is reading its stream now. */
  readonly isIdle: boolean;
  /** Whether the program may have stopped reading its stream. */
  readonly mayBeAbandoned: boolean;
  /**
   * Ends the runs. The end is provisional unless `isFinal` is true: then the client accepts no corrections afterwards.
   */
  assumeEnd(options: { readonly isFinal: boolean }): void;
}

/**
 * Interval of the checks for idle operations, in milliseconds. An operation that is idle in two checks in a row is
 * assumed to be abandoned.
 */
const idleCheckMs = 5_000;

/**
 * The operations that have not ended. If the program may have abandoned an operation's stream, the operation is ended
 * provisionally: at the next flush, or after a few seconds in which nothing reads the stream. When the process ends,
 * all operations are ended provisionally. When a client is drained or closed, all of its operations are ended for good.
 */
export class OpenOperations {
  readonly #operations = new Set<AbandonableOperation>();
  readonly #idle = new WeakSet<AbandonableOperation>();
  #timer: NodeJS.Timeout | undefined;
  #isListening = false;

  /** Adds an operation. Adding it again has no effect. */
  add(operation: AbandonableOperation): void {
    this.#operations.add(operation);
    if (!this.#isListening) {
      this.#isListening = true;
      onFlush(({ client, isFinal }) => {
        this.#assumeEnds(
          (open) =>
            (client === undefined || open.run.client === client) &&
            (isFinal || open.mayBeAbandoned),
          { isFinal: isFinal && client !== undefined },
        );
      });
    }
    // The timer is unref'd, because waiting for an abandoned stream must not keep the process alive.
    this.#timer ??= setInterval(() => this.#checkIdle(), idleCheckMs).unref();
  }

  delete(operation: AbandonableOperation): void {
    this.#operations.delete(operation);
  }

  #checkIdle(): void {
    this.#assumeEnds((operation) => operation.isIdle && this.#idle.has(operation), {
      isFinal: false,
    });
    for (const operation of this.#operations) {
      if (operation.isIdle) {
        this.#idle.add(operation);
      } else {
        this.#idle.delete(operation);
      }
    }
    if (this.#operations.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #assumeEnds(
    isAbandoned: (operation: AbandonableOperation) => boolean,
    options: { readonly isFinal: boolean },
  ): void {
    for (const operation of this.#operations) {
      if (isAbandoned(operation)) {
        this.#operations.delete(operation);
        operation.assumeEnd(options);
      }
    }
  }
}
