import { onFlush } from "../../main/index.ts";
import type { RunTree } from "../../main/index.ts";

/** An operation that may be left without a sign. */
interface LeavableOperation {
  readonly run: RunTree;
  /** Whether nobody reads its stream. */
  readonly isIdle: boolean;
  /** Whether nobody may read its stream any more. */
  readonly mayBeLeft: boolean;
  assumeEnd(): void;
}

/** How often operations are looked through. One that is idle twice in a row is assumed to be left. */
const sweepMs = 5_000;

/**
 * The operations that have not ended. Those whose stream the program may have left are ended on the assumption that it did:
 * at the next flush, or after a few seconds in which nobody reads. When a client is closed or the process ends, all are.
 */
export class OpenOperations {
  readonly #operations = new Set<LeavableOperation>();
  readonly #idle = new WeakSet<LeavableOperation>();
  #timer: NodeJS.Timeout | undefined;
  #isListening = false;

  /** Adds an operation. Adding it again has no effect. */
  add(operation: LeavableOperation): void {
    this.#operations.add(operation);
    if (!this.#isListening) {
      this.#isListening = true;
      onFlush(({ client, isFinal }) => {
        this.#assumeEnds(
          (open) =>
            (client === undefined || open.run.client === client) && (isFinal || open.mayBeLeft),
        );
      });
    }
    // Unref'd: waiting for a stream that nobody reads must not keep the process alive.
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  delete(operation: LeavableOperation): void {
    this.#operations.delete(operation);
  }

  #sweep(): void {
    this.#assumeEnds((operation) => operation.isIdle && this.#idle.has(operation));
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

  #assumeEnds(isLeft: (operation: LeavableOperation) => boolean): void {
    for (const operation of this.#operations) {
      if (isLeft(operation)) {
        this.#operations.delete(operation);
        operation.assumeEnd();
      }
    }
  }
}
