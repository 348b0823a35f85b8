import { Client } from "millrace";
import type { AskOptions } from "./ask.ts";
import { serve } from "./backend.ts";
import { Ledger } from "./ledger.ts";
import { runLoad } from "./load.ts";
import { Meter } from "./measure.ts";
import type { Answering } from "./model.ts";
import { startProgress } from "./progress.ts";
import type { Topic } from "./questions.ts";
import type { Phase } from "./summary.ts";

const flushTimeoutMs = 60_000;
/** About so many. */
const runsPerRequest = 8;

/** How much is asked. */
export interface Scale {
  /** Requests of each stretch without recording: one before and one after each with it. */
  readonly baselineRequests: number;
  /** Stretches with recording. */
  readonly turns: number;
  /** Runs to record, at least. */
  readonly runs: number;
  /** Where recording ends, whatever was recorded by then. */
  readonly requestLimit: number;
  /** Requests in flight at a time. */
  readonly concurrency: number;
  /** Whether the first requests, which wait for the compiler, are asked once more beforehand. */
  readonly warmsUp: boolean;
}

/** Local answers are free: as many as the runs take. Others cost money: a few. */
export const chooseScale = (kind: Answering["kind"], runs: number): Scale => {
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
  // About a quarter of the requests is repeated without recording, in turns with those that are recorded.
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

/** What all phases share. */
export interface WorkloadOptions {
  readonly scale: Scale;
  readonly topics: readonly Topic[];
  readonly pipeline: Pick<AskOptions, "library" | "model" | "root" | "patienceMs">;
  /** Records the last phase. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

/** The same program under the same load, without and with recording. */
export interface Workload {
  readonly baseline: Phase;
  readonly recorded: Phase;
  readonly ledger: Ledger;
  /** From the last response to the delivery of the last record. */
  readonly flushMs: number;
}

/**
 * Runs the workload without recording, with it, and without it again, in turns: what the machine does
 * meanwhile, and how warm the program is, then weighs on both alike.
 */
export const runWorkload = async (options: WorkloadOptions): Promise<Workload> => {
  const { client, scale } = options;
  const silent = new Client({ enabled: false });
  const baseline = new PhaseRecord();
  const runBaseline = async (title: string, record: PhaseRecord): Promise<void> => {
    const requestLimit = scale.baselineRequests;
    const progress = startProgress(title, requestLimit, "requests");
    const program = { client: silent, ledger: new Ledger(), requestLimit };
    const count = await record.add(options, program, (requests) => {
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
    const wanted = Math.ceil((scale.runs * turn) / scale.turns);
    const progress = startProgress("With recording   ", wanted, "runs");
    await recorded.add(options, program, () => {
      progress.update(ledger.size);
      return ledger.size < wanted;
    });
    const flushStartedAt = performance.now();
    await client.flush({ timeoutMs: flushTimeoutMs });
    flushMs = performance.now() - flushStartedAt;
    progress.stop(ledger.size);
  }
  await runBaseline("Without recording", baseline);
  await silent.close();
  return { baseline: baseline.result(), recorded: recorded.result(), ledger, flushMs };
};

/** The program in one of the phases. */
interface Program {
  readonly client: Client;
  readonly ledger: Ledger;
  readonly requestLimit: number;
}

/** One phase, in one or several parts. */
class PhaseRecord {
  readonly #meter = new Meter();
  readonly #responseMs: number[] = [];
  readonly #stretches: number[] = [];
  #failedOnPurpose = 0;
  #failed = 0;

  /**
   * Serves the route and calls it, until `onProgress` says that it is enough; answers the number
   * of requests.
   */
  async add(
    { scale, topics, pipeline, signal }: WorkloadOptions,
    { client, ledger, requestLimit }: Program,
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
