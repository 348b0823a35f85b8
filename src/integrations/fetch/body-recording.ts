import type { ExchangeEnd, ExchangeRun } from "../../main/index.ts";

/**
 * Records the body of a response while the program reads it. Each clone of the response is a branch that delivers the same
 * bytes: they are recorded once, from the branch that is ahead.
 */
export class BodyRecording {
  readonly #exchange: ExchangeRun;
  /** The attempt that got the response. A library may have sent the request again since. */
  readonly #attempt: number;
  #openBranches = 0;
  #recordedBytes = 0;
  #isEnded = false;

  constructor(exchange: ExchangeRun) {
    this.#exchange = exchange;
    this.#attempt = exchange.attempt;
  }

  openBranch(): BodyBranch {
    this.#openBranches += 1;
    return new BodyBranch(this);
  }

  get #isCurrent(): boolean {
    return this.#exchange.attempt === this.#attempt;
  }

  startReading(): void {
    if (this.#isCurrent) {
      this.#exchange.startReading();
    }
  }

  stopReading(): void {
    if (this.#isCurrent && this.#openBranches === 1) {
      this.#exchange.stopReading();
    }
  }

  /** Records the bytes of a chunk, which begins at `offset` in the body, that no branch has delivered before. */
  add(chunk: unknown, offset: number): number {
    if (!this.#isCurrent) {
      return offset;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) {
      this.#exchange.addWarning(
        "The response has chunks that are not bytes; they were not recorded",
      );
      return offset;
    }
    const end = offset + bytes.length;
    if (end > this.#recordedBytes) {
      const known = this.#recordedBytes - offset;
      this.#exchange.addChunk(known > 0 ? bytes.subarray(known) : bytes);
      this.#recordedBytes = end;
    }
    return end;
  }

  addWarning(text: string): void {
    if (this.#isCurrent) {
      this.#exchange.addWarning(text);
    }
  }

  /** Ends the run. A branch that was not read to its end ends the run only if it is the last. */
  endBranch(ending: "complete" | "cancelled" | "failed", error?: unknown): void {
    this.#openBranches -= 1;
    if (!this.#isEnded && (ending === "complete" || this.#openBranches === 0)) {
      this.#isEnded = true;
      if (this.#isCurrent) {
        this.#exchange.end(toEnd(ending, error));
      }
    }
  }
}

/**
 * An abort while the body arrives means that the program stops reading, as `break` does: client libraries abort the request
 * when a loop over their stream is left, and end the loop without an error when the program aborts.
 */
const toEnd = (ending: "complete" | "cancelled" | "failed", error: unknown): ExchangeEnd =>
  error instanceof Error && error.name === "AbortError"
    ? { ending: "cancelled" }
    : { ending, ...(error === undefined ? {} : { error }) };

/** One reading of a body: that of the response, or of a clone. Ended once; later calls have no effect. */
export class BodyBranch {
  readonly recording: BodyRecording;
  /** Whether the program has a reader of the body. */
  isReading = false;
  #offset = 0;
  #isEnded = false;

  constructor(recording: BodyRecording) {
    this.recording = recording;
  }

  add(chunk: unknown): void {
    this.#offset = this.recording.add(chunk, this.#offset);
  }

  end(ending: "complete" | "cancelled" | "failed", error?: unknown): void {
    if (!this.#isEnded) {
      this.#isEnded = true;
      // A registered object survives the collections of young objects, with all that it refers to.
      abandonedResponses.unregister(this);
      abandonedReaders.unregister(this);
      this.recording.endBranch(ending, error);
    }
  }

  /** Call this when the program can't read the body any more, because it released it. */
  abandon(): void {
    if (!this.#isEnded) {
      this.recording.addWarning("The response was not read to its end");
      this.end("cancelled");
    }
  }
}

/**
 * Ends runs whose readers or responses were garbage collected before the body was read to its end. A response may be
 * collected while a reader of its body is in use.
 */
export const abandonedReaders = new FinalizationRegistry<BodyBranch>((branch) => branch.abandon());
export const abandonedResponses = new FinalizationRegistry<BodyBranch>((branch) => {
  if (!branch.isReading) {
    branch.abandon();
  }
});
