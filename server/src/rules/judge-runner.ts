import { messageOf, RequestError } from "../model/errors.ts";
import { ruleLimits } from "./rule.ts";
import type { DueAction, RuleReads } from "./rule.ts";

interface Dependencies {
  readonly rules: Pick<RuleReads, "listWaitingJudges" | "findDue">;
  /** Judges a run with the judge of a rule. Returns the error if that fails, otherwise `undefined`. */
  readonly judge: (due: DueAction, runId: string, signal: AbortSignal) => Promise<unknown>;
  /** Stores the result of a judge; `failure` is what `judge` returned. */
  readonly record: (due: DueAction, run: DueRun, failure: unknown) => Promise<void>;
  /** Called when a judge has ended, so that the next one can begin. */
  readonly onEnd: () => void;
}

type DueRun = DueAction["runs"][number];

/**
 * Runs the judges of rules separately from other actions: a model may take minutes, and other actions must not wait for
 * it. A few judges of each tenant run at the same time. The runs that wait for a judge are stored in the database. If
 * the server stops while a judge is running, the judge therefore begins again after the next start.
 */
export class JudgeRunner {
  readonly #dependencies: Dependencies;
  readonly #controller = new AbortController();
  /** The judges that are running, by tenant, rule and run. */
  readonly #running = new Map<
    string,
    { readonly tenantId: string; readonly work: Promise<void> }
  >();
  /** The time until which no judges of a tenant are started, because the tenant has made too many calls; by tenant. */
  readonly #pausedUntilMs = new Map<string, number>();

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /** Starts the judges that are due, as far as the limits allow. */
  async begin(): Promise<void> {
    const { rules } = this.#dependencies;
    const nowMicros = Date.now() * 1_000;
    this.#endPauses();
    for (const { tenantId, ruleId } of await rules.listWaitingJudges(nowMicros)) {
      if (this.#countStartable(tenantId) > 0) {
        const limit = ruleLimits.judgesOfTenant;
        const due = await rules.findDue(tenantId, ruleId, { nowMicros, limit });
        for (const run of due.runs) {
          const key = JSON.stringify([tenantId, ruleId, run.id]);
          if (!this.#running.has(key) && this.#countStartable(tenantId) > 0) {
            this.#running.set(key, { tenantId, work: this.#run(key, due, run) });
          }
        }
      }
    }
  }

  /** Cancels the running judges, and waits until they have ended. */
  async close(): Promise<void> {
    this.#controller.abort(new RequestError(503, "the server is closing"));
    await Promise.all([...this.#running.values()].map(({ work }) => work));
  }

  /** Returns how many more judges of a tenant may be started now. */
  #countStartable(tenantId: string): number {
    if (this.#controller.signal.aborted || this.#pausedUntilMs.has(tenantId)) {
      return 0;
    }
    const runningOfTenant = [...this.#running.values()].filter(
      (runningJudge) => runningJudge.tenantId === tenantId,
    ).length;
    return Math.min(
      ruleLimits.judgesOfTenant - runningOfTenant,
      ruleLimits.judgesAtOnce - this.#running.size,
    );
  }

  #endPauses(): void {
    const nowMs = Date.now();
    for (const [tenantId, untilMs] of this.#pausedUntilMs) {
      if (untilMs <= nowMs) {
        this.#pausedUntilMs.delete(tenantId);
      }
    }
  }

  async #run(key: string, due: DueAction, run: DueRun): Promise<void> {
    const { judge, record, onEnd } = this.#dependencies;
    const { signal } = this.#controller;
    const failure = await judge(due, run.id, signal);
    const pauseMs = readPauseMs(failure);
    if (pauseMs !== undefined) {
      this.#pausedUntilMs.set(due.tenantId, Date.now() + pauseMs);
    } else if (!signal.aborted) {
      try {
        await record(due, run, failure);
      } catch (cause) {
        // The run stays due. If the judge succeeded, the next attempt finds its stored call and does not call the model
        // again.
        process.emitWarning(
          `the result of a rule's judge could not be stored, another attempt follows: ${messageOf(cause)}`,
        );
      }
    }
    this.#running.delete(key);
    onEnd();
  }
}

/**
 * If a judge failed because its tenant has made too many calls, returns how long the tenant must wait. Returns
 * `undefined` for any other failure, and for a wait of more than `ruleLimits.judgePauseSeconds`.
 */
const readPauseMs = (failure: unknown): number | undefined =>
  failure instanceof RequestError &&
  failure.status === 429 &&
  failure.retryAfterSeconds !== undefined &&
  failure.retryAfterSeconds <= ruleLimits.judgePauseSeconds
    ? failure.retryAfterSeconds * 1_000
    : undefined;
