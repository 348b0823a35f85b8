import { Client } from "millrace";
import type { AskOptions } from "./ask.ts";
import { serve } from "./backend.ts";
import { Ledger } from "./ledger.ts";
import { runLoad } from "./load.ts";
import { Meter } from "./measure.ts";
import type { ModelChoice } from "./model.ts";
import { startProgress } from "./progress.ts";
import type { Topic } from "./questions.ts";
import type { Phase } from "./summary.ts";

const flushTimeoutMs = 60_000;
/** Approximate number of runs that a request records. */
const runsPerRequest = 8;

/** The size of the workload. */
export interface Scale {
  /**
   * Number of requests of each stretch without recording. There is one before and one after each stretch with
   * recording.
   */
  readonly baselineRequests: number;
  /** Number of stretches with recording. */
  readonly turns: number;
  /** Minimum number of runs to record. */
  readonly runs: number;
  /** Maximum number of requests of a stretch with recording, even if fewer runs were recorded. */
  readonly requestLimit: number;
  /** Maximum number of requests in flight. */
  readonly concurrency: number;
  /** Whether to send the first requests once before the measurement, so that V8 has compiled the code. */
  readonly warmsUp: boolean;
}

/** Chooses the size of the workload: as many requests as the runs need for the local model, but few for a paid API. */
export const chooseScale = (kind: ModelChoice["kind"], runs: number): Scale => {
  if (kind === "openai") {
    const requestLimit = 50;
    const openAiRuns = Math.min(runs, requestLimit * runsPerRequest);
    return {
      baselineRequests: 5,
      turns: 1,
      runs: openAiRuns,
      requestLimit,
      concurrency: 4,
      warmsUp: false,
    };
  }
  // About a quarter of the requests are repeated without recording, between the stretches with recording.
  const hundreds = Math.min(10, Math.round(runs / runsPerRequest / 8 / 100));
  return {
    baselineRequests: hundreds === 0 ? 50 : hundreds * 50,
    turns: hundreds === 0 ? 1 : 3,
    runs,
    requestLimit: Infinity,
    concurrency: 16,
    warmsUp: true,
  };
};

/** Options that all phases share. */
export interface WorkloadOptions {
  readonly scale: Scale;
  readonly topics: readonly Topic[];
  readonly pipeline: Pick<AskOptions, "library" | "model" | "root" | "answerTimeoutMs">;
  /** The client that records the stretches with recording. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** The results of the same program under the same load, without and with recording. */
export interface Workload {
  readonly baseline: Phase;
  readonly recorded: Phase;
  readonly ledger: Ledger;
  /** Time from the last response to the delivery of the last record. */
  readonly flushMs: number;
}

/**
 * Runs the workload alternately without and with recording, so that other load of the machine and the warm-up of the program
 * affect both equally.
 */
export const runWorkload = async (options: WorkloadOptions): Promise<Workload> => {
  const { client, scale } = options;
  const disabledClient = new Client({ enabled: false });
  const baseline = new PhaseRecord();
  const runBaseline = async (title: string, phase: PhaseRecord): Promise<void> => {
    const requestLimit = scale.baselineRequests;
    const progress = startProgress(title, requestLimit, "requests");
    const program = { client: disabledClient, ledger: new Ledger(), requestLimit };
    const count = await phase.add(options, program, (requests) => {
      progress.update(requests);
      return true;
    });
    progress.stop(count);
  };
  if (scale.warmsUp) {
    await runBaseline("Warming up       ", new PhaseRecord());
  }
  const ledger = new Ledger();
  const recorded = new PhaseRecord();
  const program = { client, ledger, requestLimit: scale.requestLimit };
  let flushMs = 0;
  for (let turn = 1; turn <= scale.turns; turn += 1) {
    await runBaseline("Without recording", baseline);
    const targetRuns = Math.ceil((scale.runs * turn) / scale.turns);
    const progress = startProgress("With recording   ", targetRuns, "runs");
    await recorded.add(options, program, () => {
      progress.update(ledger.size);
      return ledger.size < targetRuns;
    });
    const flushStartedAt = performance.now();
    await client.flush({ timeoutMs: flushTimeoutMs });
    flushMs = performance.now() - flushStartedAt;
    progress.stop(ledger.size);
  }
  await runBaseline("Without recording", baseline);
  await disabledClient.close();
  return { baseline: baseline.result(), recorded: recorded.result(), ledger, flushMs };
};

/** The part of the options that differs between the phases. */
interface PhaseProgram {
  readonly client: Client;
  readonly ledger: Ledger;
  readonly requestLimit: number;
}

/** Collects the results of one phase, which consists of one or several stretches. */
class PhaseRecord {
  readonly #meter = new Meter();
  readonly #responseMs: number[] = [];
  readonly #stretches: number[] = [];
  #failedOnPurpose = 0;
  #failed = 0;

  /**
   * Serves the route and sends requests to it until `onProgress` returns false. Returns the number of requests.
   */
  async add(
    { scale, topics, pipeline, signal }: WorkloadOptions,
    { client, ledger, requestLimit }: PhaseProgram,
    onProgress: (requests: number) => boolean,
  ): Promise<number> {
    const { backend, url } = await serve({ ...pipeline, client, ledger });
    const { concurrency, baselineRequests: cycle } = scale;
    const stop = this.#meter.start();
    const { failedOnPurpose, failed, responseMs } = await runLoad(
      { url, topics, concurrency, requestLimit, cycle },
      (requests) => onProgress(requests) && !signal.aborted,
    );
    stop();
    backend.close();
    this.#failedOnPurpose += failedOnPurpose;
    this.#failed += failed;
    this.#responseMs.push(...responseMs);
    this.#stretches.push(responseMs.length);
    return responseMs.length;
  }

  result(): Phase {
    const sorted = this.#responseMs.toSorted((a, b) => a - b);
    const quantile = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
    return {
      requests: sorted.length,
      stretches: this.#stretches,
      failedOnPurpose: this.#failedOnPurpose,
      failed: this.#failed,
      responseMs: { p50: quantile(0.5), p99: quantile(0.99) },
      cost: this.#meter.result(),
    };
  }
}
