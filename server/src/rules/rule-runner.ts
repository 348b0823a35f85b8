import { checkFilter } from "../filter/checker.ts";
import type { CheckedFilter } from "../filter/checker.ts";
import { runFields, selectRunFields } from "../filter/fields.ts";
import { FilterError } from "../filter/filter-error.ts";
import { judgeMetadataKey } from "../judges/call-judge.ts";
import { messageOf, RequestError } from "../model/errors.ts";
import type { RunListReads } from "../runs/run-list.ts";
import type { RunPart } from "../runs/run-row.ts";
import type { Promised } from "../storage/promised.ts";
import { applyAction } from "./rule-action.ts";
import type { ActionDependencies, ActionStore } from "./rule-action.ts";
import type { JudgeDependencies } from "./judge-action.ts";
import { JudgeRunner } from "./judge-runner.ts";
import { actionDelaysMs, ruleLimits } from "./rule.ts";
import type {
  ActionResult,
  ActiveRule,
  DueAction,
  EndedRoot,
  RuleMatches,
  RuleReads,
  RuleWrites,
} from "./rule.ts";
import { isSampled } from "./sample-trace.ts";

/** The part of the store that the runner uses. */
export interface RunnerStore extends ActionStore {
  readonly read: ActionStore["read"] &
    Promised<{ readonly runLists: Pick<RunListReads, "search"> }> & {
      readonly rules: Pick<
        RuleReads,
        "findDue" | "listActive" | "listDue" | "listWaitingJudges" | "scanRoots"
      >;
    };
  readonly write: ActionStore["write"] & {
    readonly rules: Pick<RuleWrites, "advance" | "advancePast" | "pause" | "prune" | "record">;
  };
}

/** What the runner depends on. */
export interface RunnerDependencies {
  readonly store: RunnerStore;
  readonly judging: JudgeDependencies;
}

/** How long the runner pauses between its steps, in milliseconds. */
export interface RunnerTimes {
  /** Pause between steps while rules are enabled. */
  readonly stepMs: number;
  /** Pause after a step that may have left actions or runs for the next step. */
  readonly busyMs: number;
  /** Pause while no rule is enabled. The routes wake the runner when one is enabled. */
  readonly idleMs: number;
  /** Pause after a step that failed. */
  readonly failureMs: number;
  /** See {@link actionDelaysMs}. */
  readonly actionDelaysMs: readonly number[];
}

const defaultTimes: RunnerTimes = {
  stepMs: 1_000,
  busyMs: 50,
  idleMs: 60_000,
  failureMs: 10_000,
  actionDelaysMs,
};

/** Milliseconds between two deletions of old records of runs to which rules were applied. */
const pruneIntervalMs = 3_600_000;

/**
 * Applies rules to the root runs of traces once they have ended. The runner finds these runs by reading what was stored
 * since its last step, so storing runs does not wait for rules. It stores the matching runs together with the position
 * of its search, and takes the actions after that. So a restart neither loses a run nor applies a rule to it twice.
 */
export class RuleRunner {
  readonly #store: RunnerStore;
  readonly #actions: ActionDependencies;
  readonly #judges: JudgeRunner;
  readonly #controller = new AbortController();
  readonly #onEnqueued: () => void;
  readonly #times: RunnerTimes;
  #timer: NodeJS.Timeout | undefined;
  #step: Promise<void> | undefined;
  #lastPruneMs = Date.now();
  #isClosed = true;

  /** @param onEnqueued - called after deliveries of webhooks were stored */
  constructor(
    { store, judging }: RunnerDependencies,
    onEnqueued: () => void,
    times: Partial<RunnerTimes> = {},
  ) {
    this.#store = store;
    this.#actions = { store, judging };
    this.#onEnqueued = onEnqueued;
    this.#judges = new JudgeRunner({
      rules: store.read.rules,
      judge: async (due, id, signal) => this.#apply(due, [id], signal),
      record: async (due, run, failure) =>
        store.write.rules.record([this.#toResult(due, run, failure)]),
      onEnd: () => this.wake(),
    });
    this.#times = { ...defaultTimes, ...times };
  }

  start(): void {
    this.#isClosed = false;
    this.#schedule(this.#times.stepMs);
  }

  /** Starts a step, unless one is running. Must be called after a rule was enabled or its actions were made due. */
  wake(): void {
    if (this.#step === undefined) {
      this.#schedule(0);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#controller.abort(new RequestError(503, "the server is closing"));
    await this.#step;
    await this.#judges.close();
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => {
        this.#step = this.#runStep();
      }, delayMs);
      this.#timer.unref();
    }
  }

  async #runStep(): Promise<void> {
    let pauseMs: number;
    try {
      pauseMs = await this.#performStep();
    } catch (cause) {
      // The disk may be full, or a query took too long. The next step begins at the same run.
      pauseMs = this.#times.failureMs;
      if (!this.#isClosed) {
        process.emitWarning(
          `rules were not applied, next attempt in ${pauseMs / 1_000} s: ${messageOf(cause)}`,
        );
      }
    }
    this.#step = undefined;
    this.#schedule(pauseMs);
  }

  /** Performs a step, and returns the milliseconds to wait before the next one. */
  async #performStep(): Promise<number> {
    const rules = this.#check(await this.#store.read.rules.listActive());
    const { valid, invalid } = rules;
    for (const { tenantId, id, reason } of invalid) {
      await this.#store.write.rules.pause(tenantId, id, reason);
    }
    await this.#prune();
    if (valid.length === 0) {
      return this.#times.idleMs;
    }
    const hasMoreRoots = await this.#applyToNew(valid);
    const hasMorePast = await this.#applyToPast(valid);
    const wasBusy = await this.#takeActions();
    await this.#judges.begin();
    return hasMoreRoots || hasMorePast || wasBusy ? this.#times.busyMs : this.#times.stepMs;
  }

  #check(rules: readonly ActiveRule[]): {
    readonly valid: readonly CheckedRule[];
    readonly invalid: readonly InvalidRule[];
  } {
    const valid: CheckedRule[] = [];
    const invalid: InvalidRule[] = [];
    for (const rule of rules) {
      try {
        const runFilters =
          rule.filter === "" ? [] : [checkFilter(rule.filter, selectRunFields(true))];
        const exclusions = rule.action.kind === "judge" ? [otherThanJudgeCalls] : [];
        valid.push({ ...rule, runFilters: [...runFilters, ...exclusions] });
      } catch (cause) {
        if (!(cause instanceof FilterError)) {
          throw cause;
        }
        const reason = `The filter is no longer valid: ${cause.message}`;
        invalid.push({ tenantId: rule.tenantId, id: rule.id, reason });
      }
    }
    return { valid, invalid };
  }

  /** Applies rules to root runs that were stored or have ended since the last step. Returns whether there are more. */
  async #applyToNew(rules: readonly CheckedRule[]): Promise<boolean> {
    const { ended, ...scan } = await this.#store.read.rules.scanRoots(Date.now() * 1_000);
    const matches: RuleMatches[] = [];
    for (const rule of rules) {
      const roots = ended.filter(
        ({ tenantId, projectId, row }) =>
          tenantId === rule.tenantId && projectId === rule.projectId && row > rule.fromRow,
      );
      const sampled = roots.filter(({ traceId }) => isSampled(traceId, rule.samplingRate));
      for (let start = 0; start < sampled.length; start += ruleLimits.comparedRoots) {
        const part = sampled.slice(start, start + ruleLimits.comparedRoots);
        const runIds = await this.#pauseIfTooSlow(rule, async () => this.#match(rule, part));
        matches.push({ tenantId: rule.tenantId, ruleId: rule.id, runIds: runIds ?? [] });
      }
    }
    if (scan.expired.length > 0) {
      process.emitWarning(
        `${scan.expired.length} traces did not end within ${ruleLimits.openHours} hours, so no rule is applied to them`,
      );
    }
    const dropped = await this.#store.write.rules.advance(
      scan,
      matches.filter(({ runIds }) => runIds.length > 0),
    );
    if (dropped > 0) {
      process.emitWarning(
        `more than ${ruleLimits.openRoots} traces have not ended: no rule is applied to the ${dropped} oldest of them`,
      );
    }
    return scan.hasMore;
  }

  /**
   * Reads runs for a rule. If its filter exceeds the time limit of a query, pauses the rule and returns `undefined`, so
   * that the rules of other tenants are not delayed.
   */
  async #pauseIfTooSlow<Found>(
    { tenantId, id }: CheckedRule,
    read: () => Promise<Found>,
  ): Promise<Found | undefined> {
    try {
      return await read();
    } catch (cause) {
      if (!(cause instanceof RequestError) || cause.status !== 408) {
        throw cause;
      }
      const reason = `The filter took too long: ${cause.message}`;
      await this.#store.write.rules.pause(tenantId, id, reason);
      return undefined;
    }
  }

  /** Returns the ids of those roots that match the filter of a rule. */
  async #match(rule: CheckedRule, roots: readonly EndedRoot[]): Promise<readonly string[]> {
    const { runs } = await this.#store.read.runs.query(rule.tenantId, {
      filter: {
        projectIds: [rule.projectId],
        ids: roots.map(({ id }) => id),
        isRoot: true,
        runFilters: rule.runFilters,
      },
      order: "asc",
      limit: roots.length,
      withChildren: false,
      parts: partsToRead,
    });
    return runs.map(({ row }) => row.id);
  }

  async #applyToPast(rules: readonly CheckedRule[]): Promise<boolean> {
    let hasMore = false;
    for (const rule of rules) {
      const { past, tenantId, id: ruleId, projectId } = rule;
      if (past !== null && !this.#isClosed) {
        const { fromMicros, toMicros, positionMicros, positionId } = past;
        const slice = await this.#pauseIfTooSlow(rule, async () =>
          this.#store.read.runLists.search(tenantId, {
            projectId,
            filter: {
              isRoot: true,
              earliestStartMicros: fromMicros,
              latestStartMicros: toMicros,
              runFilters: rule.runFilters,
            },
            sort: "start",
            order: "asc",
            limit: ruleLimits.pastMatches,
            scanLimit: ruleLimits.pastScan,
            ...(positionId !== "" && { after: { micros: positionMicros, id: positionId } }),
            parts: partsToRead,
          }),
        );
        if (slice === undefined) {
          continue;
        }
        const { runs, nextPosition } = slice;
        const runIds = runs.flatMap(({ row }) =>
          row.endMicros !== null && isSampled(row.traceId, rule.samplingRate) ? [row.id] : [],
        );
        await this.#store.write.rules.advancePast(
          { tenantId, ruleId, runIds },
          nextPosition === undefined
            ? null
            : { positionMicros: nextPosition.micros, positionId: nextPosition.id },
        );
        hasMore ||= nextPosition !== undefined;
      }
    }
    return hasMore;
  }

  /** Takes actions that are due. Returns whether there were any. */
  async #takeActions(): Promise<boolean> {
    const { due } = await this.#store.read.rules.listDue(Date.now() * 1_000);
    for (const action of due) {
      if (!this.#isClosed) {
        await this.#store.write.rules.record(await this.#takeAction(action));
        if (action.action.kind === "webhook") {
          this.#onEnqueued();
        }
      }
    }
    return due.length > 0;
  }

  async #takeAction(due: DueAction): Promise<readonly ActionResult[]> {
    const { signal } = this.#controller;
    const ids = due.runs.map(({ id }) => id);
    const failure = await this.#apply(due, ids, signal);
    if (failure === undefined) {
      return due.runs.map((run) => this.#toResult(due, run, undefined));
    }
    // A single run, such as a deleted one, may be the reason, so take the action for each run separately.
    const results: ActionResult[] = [];
    for (const run of due.runs) {
      results.push(this.#toResult(due, run, await this.#apply(due, [run.id], signal)));
    }
    return results;
  }

  /** Takes an action. Returns the error if that fails, otherwise `undefined`. */
  async #apply(due: DueAction, runIds: readonly string[], signal: AbortSignal): Promise<unknown> {
    const { tenantId, ruleId, ruleName, action } = due;
    const rule = { id: ruleId, name: ruleName };
    try {
      await applyAction(this.#actions, { tenantId, rule, action, runIds, signal });
      return undefined;
    } catch (cause) {
      return cause;
    }
  }

  #toResult(
    { tenantId, ruleId }: DueAction,
    { id: runId, attempts }: DueAction["runs"][number],
    failure: unknown,
  ): ActionResult {
    const delayMs = isFinal(failure) ? undefined : this.#times.actionDelaysMs[attempts];
    return {
      tenantId,
      ruleId,
      runId,
      error: failure === undefined ? null : messageOf(failure),
      nextMicros:
        failure === undefined || delayMs === undefined ? null : (Date.now() + delayMs) * 1_000,
    };
  }

  async #prune(): Promise<void> {
    const nowMs = Date.now();
    if (nowMs - this.#lastPruneMs > pruneIntervalMs) {
      this.#lastPruneMs = nowMs;
      const keptMs = ruleLimits.markDays * 86_400_000;
      await this.#store.write.rules.prune((nowMs - keptMs) * 1_000);
    }
  }
}

type CheckedRule = ActiveRule & { readonly runFilters: readonly CheckedFilter[] };

interface InvalidRule {
  readonly tenantId: string;
  readonly id: string;
  readonly reason: string;
}

/** Matches all runs except the calls of judges: judges must not judge calls of judges. */
const otherThanJudgeCalls: CheckedFilter = {
  kind: "not",
  part: checkFilter(`eq(metadata_key, ${JSON.stringify(judgeMetadataKey)})`, runFields),
};

const partsToRead: ReadonlySet<RunPart> = new Set(["traceId", "startMicros", "endMicros"]);

/** Whether trying again can't help, because the action itself was refused. A busy or failing server may recover. */
const isFinal = (failure: unknown): boolean =>
  failure instanceof RequestError && failure.status < 500 && failure.status !== 429;
