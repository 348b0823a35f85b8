import { digest } from "./canonical.ts";

/** A recorded run as the program remembers it; hashes keep it small enough to remember thousands. */
export interface ExpectedRun {
  readonly name: string;
  readonly runType: string;
  readonly parentId: string | undefined;
  /** Hash of the inputs. */
  readonly inputs: string;
  /** Hash of the outputs; `undefined` if the work had none. */
  readonly outputs: string | undefined;
  /** The message of the error that the work threw. */
  readonly error: string | undefined;
  /** Hash of the streamed tokens; `undefined` if there were none. */
  readonly tokens: string | undefined;
}

/** A unit of work: its inputs and its outcome. */
export interface Work {
  readonly name: string;
  readonly runType: string;
  readonly inputs: unknown;
  readonly outputs?: unknown;
  readonly error?: unknown;
  readonly tokens?: readonly string[];
}

/** The identity of a run; a run of the SDK implements it. */
export interface RunHandle {
  readonly id: string;
  readonly parentRunId: string | undefined;
}

/** Remembers every recorded run, to compare it with the one on the server. */
export class Ledger {
  readonly #runs = new Map<string, ExpectedRun>();
  #sample: string | undefined;
  #payloadBytes = { total: 0, min: Infinity, max: 0 };

  /** Number of runs in the ledger. */
  get size(): number {
    return this.#runs.size;
  }

  /** Bytes of inputs, outputs and tokens: of all runs, of the smallest run and of the largest. */
  get payloadBytes(): { readonly total: number; readonly min: number; readonly max: number } {
    return this.#payloadBytes;
  }

  /** The id of the root run of a successful trace. */
  get sample(): string | undefined {
    return this.#sample;
  }

  get(id: string): ExpectedRun | undefined {
    return this.#runs.get(id);
  }

  ids(): IterableIterator<string> {
    return this.#runs.keys();
  }

  /** Adds a finished run. It does the same work without a run, so that the cost of recording can be compared. */
  note(run: RunHandle | undefined, { name, runType, inputs, outputs, error, tokens }: Work): void {
    const inputDigest = digest(inputs);
    const outputDigest = outputs === undefined ? undefined : digest(outputs);
    const tokenDigest = tokens === undefined || tokens.length === 0 ? undefined : digest(tokens);
    if (run === undefined) {
      return;
    }
    this.#runs.set(run.id, {
      name,
      runType,
      parentId: run.parentRunId,
      inputs: inputDigest.hash,
      outputs: outputDigest?.hash,
      error: error === undefined ? undefined : messageOf(error),
      tokens: tokenDigest?.hash,
    });
    if (run.parentRunId === undefined && error === undefined) {
      this.#sample = run.id;
    }
    const sizeBytes =
      inputDigest.sizeBytes + (outputDigest?.sizeBytes ?? 0) + (tokenDigest?.sizeBytes ?? 0);
    const { total, min, max } = this.#payloadBytes;
    this.#payloadBytes = {
      total: total + sizeBytes,
      min: Math.min(min, sizeBytes),
      max: Math.max(max, sizeBytes),
    };
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
