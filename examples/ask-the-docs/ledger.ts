import { digest } from "./canonical.ts";

/** What the program knows of a run it recorded, small enough to keep thousands of them. */
export interface ExpectedRun {
  readonly name: string;
  readonly runType: string;
  readonly parentId: string | undefined;
  /** Hash of the inputs. */
  readonly inputs: string;
  /** Hash of the outputs; `undefined` for work that gave none. */
  readonly outputs: string | undefined;
  /** The message of what the work threw. */
  readonly error: string | undefined;
  /** Hash of the streamed tokens; `undefined` for work that streamed none. */
  readonly tokens: string | undefined;
}

/** What a piece of work was given and what came of it. */
export interface Work {
  readonly name: string;
  readonly runType: string;
  readonly inputs: unknown;
  readonly outputs?: unknown;
  readonly error?: unknown;
  readonly tokens?: readonly string[];
}

/** How a run can be found: what a run handle of the SDK offers. */
export interface RunHandle {
  readonly id: string;
  readonly parentRunId: string | undefined;
}

/** Remembers every run the program recorded, to compare it with what the server gives back. */
export class Ledger {
  readonly #runs = new Map<string, ExpectedRun>();
  #sample: string | undefined;
  #payloadBytes = { total: 0, min: Infinity, max: 0 };

  /** How many runs are noted. */
  get size(): number {
    return this.#runs.size;
  }

  /** Bytes of inputs and outputs: of all runs, of the smallest run and of the largest. */
  get payloadBytes(): { readonly total: number; readonly min: number; readonly max: number } {
    return this.#payloadBytes;
  }

  /** The root of one trace that went well. */
  get sample(): string | undefined {
    return this.#sample;
  }

  get(id: string): ExpectedRun | undefined {
    return this.#runs.get(id);
  }

  ids(): IterableIterator<string> {
    return this.#runs.keys();
  }

  /** Notes a finished run. It costs the same whether the run is recorded or not. */
  note(run: RunHandle | undefined, { name, runType, inputs, outputs, error, tokens }: Work): void {
    const given = digest(inputs);
    const made = outputs === undefined ? undefined : digest(outputs);
    const streamed = tokens === undefined || tokens.length === 0 ? undefined : digest(tokens);
    if (run === undefined) {
      return;
    }
    this.#runs.set(run.id, {
      name,
      runType,
      parentId: run.parentRunId,
      inputs: given.hash,
      outputs: made?.hash,
      error: error === undefined ? undefined : messageOf(error),
      tokens: streamed?.hash,
    });
    if (run.parentRunId === undefined && error === undefined) {
      this.#sample = run.id;
    }
    const sizeBytes = given.sizeBytes + (made?.sizeBytes ?? 0) + (streamed?.sizeBytes ?? 0);
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
