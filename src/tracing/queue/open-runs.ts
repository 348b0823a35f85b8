/** The encoded records of a run that has not ended. */
export interface OpenRun {
  readonly id: string;
  /** The records in the order in which they were recorded: usually only the start. */
  readonly records: readonly DataView[];
  /** How many records there are. */
  readonly count: number;
  /** Bytes of the records. */
  readonly sizeBytes: number;
  /** How many of the records are starts. */
  readonly starts: number;
  /**
   * Whether the records were moved to a tape together with the run's end. {@link OpenRuns} then no longer counts them.
   */
  isTaken: boolean;
}

/** A record of a run that has not ended. */
export interface OpenRecord {
  readonly runId: string;
  readonly isRunStart: boolean;
  /** The encoded record, in its own memory. */
  readonly bytes: DataView;
}

/** Limits of {@link OpenRuns}. */
export interface OpenRunLimits {
  readonly maxBytes: number;
  readonly maxRuns: number;
}

/** Approximate memory in bytes that a run takes in addition to its records: objects, and entries of the map. */
const overheadBytes = 512;

/**
 * Keeps the records of runs that have not ended, for a backend that accepts only ended runs. They stay here until the
 * end of the run is recorded, so a tape (a buffer of records) always contains whole runs, and no tape has to wait for
 * the end of a run.
 *
 * A program may record when its call stack is exhausted. So each method makes all calls that can fail first, and then
 * only assigns fields.
 */
export class OpenRuns {
  readonly #limits: OpenRunLimits;
  readonly #runs = new Map<string, OpenRun>();
  #sizeBytes = 0;
  #records = 0;
  #starts = 0;
  #count = 0;

  constructor(limits: OpenRunLimits) {
    this.#limits = limits;
  }

  /** Bytes of memory that the open runs take. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Number of records. */
  get records(): number {
    return this.#records;
  }

  /** Number of records that are the start of a run. */
  get starts(): number {
    return this.#starts;
  }

  /** Whether a record of this size is within the limit, if all other runs are evicted. */
  canHold(recordBytes: number): boolean {
    return this.measure(recordBytes) <= this.#limits.maxBytes && this.#limits.maxRuns > 0;
  }

  /** Returns the maximum memory in bytes that keeping a record of this size takes. */
  measure(recordBytes: number): number {
    return recordBytes + overheadBytes;
  }

  /** Whether a limit is exceeded, so that runs must be evicted. */
  get isOverLimit(): boolean {
    return this.#sizeBytes > this.#limits.maxBytes || this.#count > this.#limits.maxRuns;
  }

  find(runId: string): OpenRun | undefined {
    const run = this.#runs.get(runId);
    return run?.isTaken === true ? undefined : run;
  }

  /** Adds a record to its run. The first record of a run adds the run as well. */
  add({ runId, isRunStart, bytes }: OpenRecord): void {
    const existingRun = this.find(runId);
    const { byteLength } = bytes;
    const starts = isRunStart ? 1 : 0;
    const run: OpenRun = {
      id: runId,
      records: existingRun === undefined ? [bytes] : [...existingRun.records, bytes],
      count: 1 + (existingRun?.count ?? 0),
      sizeBytes: byteLength + (existingRun?.sizeBytes ?? 0),
      starts: starts + (existingRun?.starts ?? 0),
      isTaken: false,
    };
    // The map keeps the position of a run that it already has, so the run that started first stays the oldest.
    this.#runs.set(runId, run);
    this.#sizeBytes += byteLength + (existingRun === undefined ? overheadBytes : 0);
    this.#records += 1;
    this.#starts += starts;
    this.#count += existingRun === undefined ? 1 : 0;
  }

  /** Stops counting a run, whose records the caller has moved elsewhere. {@link forget} then releases its memory. */
  take(run: OpenRun): void {
    run.isTaken = true;
    this.#sizeBytes -= run.sizeBytes + overheadBytes;
    this.#records -= run.count;
    this.#starts -= run.starts;
    this.#count -= 1;
  }

  /** Removes a run that was taken. */
  forget(run: OpenRun): void {
    if (this.#runs.get(run.id) === run) {
      this.#runs.delete(run.id);
    }
  }

  /** Removes the run that started first, and returns it. The caller must count its records. */
  evictOldest(): OpenRun | undefined {
    for (const run of this.#runs.values()) {
      const wasTaken = run.isTaken;
      this.#runs.delete(run.id);
      if (!wasTaken) {
        this.take(run);
        return run;
      }
    }
    return undefined;
  }
}
