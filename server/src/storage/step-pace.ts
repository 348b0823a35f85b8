interface StepPaceOptions {
  /** The smallest and the largest number of items of a step. */
  readonly min: number;
  readonly max: number;
  /** Milliseconds that a step should take. */
  readonly targetMs: number;
}

/** Adapts the size of steps to the time that they take, so that no step delays other work for long. */
export class StepPace {
  readonly #options: StepPaceOptions;
  #size: number;

  constructor(options: StepPaceOptions) {
    this.#options = options;
    this.#size = options.min;
  }

  /** The number of items that the next step should handle. */
  get size(): number {
    return this.#size;
  }

  /**
   * Must be called after each full step. The size at most doubles from step to step, because the next items may be
   * larger.
   */
  record(elapsedMs: number): void {
    const { min, max, targetMs } = this.#options;
    const fittingSize = Math.floor((this.#size * targetMs) / Math.max(elapsedMs, 1));
    this.#size = Math.max(min, Math.min(max, this.#size * 2, fittingSize));
  }
}
