import type { ExchangeEnd, ExchangeRun } from "../../main/index.ts";

/**
 * Records the body of a response while the program reads it. The response and each of its clones are branches that
 * deliver the same bytes. The bytes are recorded only once, when the first branch delivers them.
 */
export class BodyRecording {
  readonly #exchange: ExchangeRun;
  /** Number of the attempt that received the response. A library may send the request again later. */
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

  /**
   * Records the bytes of a chunk that no branch has delivered before. The chunk begins at `offset` in the body. Returns
   * the offset of its end.
   */
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
      const recordedPart = this.#recordedBytes - offset;
      this.#exchange.addChunk(recordedPart > 0 ? bytes.subarray(recordedPart) : bytes);
      this.#recordedBytes = end;
    }
    return end;
  }

  addWarning(text: string): void {
    if (this.#isCurrent) {
      this.#exchange.addWarning(text);
    }
  }

  /**
   * Ends a branch. A branch that was read to its end also ends the run. Any other branch ends the run only if no other
   * branch is open.
   */
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
 * Creates the end of the run. An abort while the body arrives counts as `cancelled`, because it means that the program
 * stopped reading: client libraries abort the request when the program leaves a loop over their stream.
 */
const toEnd = (ending: "complete" | "cancelled" | "failed", error: unknown): ExchangeEnd =>
  error instanceof Error && error.name === "AbortError"
    ? { ending: "cancelled" }
    : { ending, ...(error === undefined ? {} : { error }) };

/**
 * The body of a response or of one of its clones, as the program reads it. It is open until it ends. After that, calls
 * have no effect.
 */
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
      // Unregister the branch: a registered object, with everything that it refers to, is not freed when V8 collects
      // its young generation.
      abandonedResponses.unregister(this);
      abandonedReaders.unregister(this);
      this.recording.endBranch(ending, error);
    }
  }

  /** Called when the program can't read the body any more, because its reader or response was garbage collected. */
  abandon(): void {
    if (!this.#isEnded) {
      this.recording.addWarning("The response was not read to its end");
      this.end("cancelled");
    }
  }
}

/**
 * These registries end runs whose readers or responses were garbage collected before the body was read to its end. A
 * response may be collected while a reader of its body is in use, so there are two.
 */
export const abandonedReaders = new FinalizationRegistry<BodyBranch>((branch) => branch.abandon());
/** Ends the run of a response that was garbage collected, unless a reader of its body is still in use. */
export const abandonedResponses = new FinalizationRegistry<BodyBranch>((branch) => {
  if (!branch.isReading) {
    branch.abandon();
  }
});
