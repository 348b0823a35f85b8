import { selectRunFields } from "../filter/fields.ts";
import { readFilter } from "../filter/filter-parameter.ts";
import { minuteMicros } from "../model/durations.ts";
import type { MetricReads, MetricValues } from "../metrics/metrics.ts";
import { messageOf } from "../model/errors.ts";
import type { Promised } from "../storage/promised.ts";
import { alertLimits } from "./alert.ts";
import type {
  ActiveAlert,
  AlertEvaluation,
  AlertFigure,
  AlertReads,
  AlertWrites,
} from "./alert.ts";

/** The part of the store that the evaluator uses. */
export interface EvaluatorStore {
  readonly read: Promised<{ readonly metrics: MetricReads }> & {
    readonly alerts: Pick<AlertReads, "listActive">;
  };
  readonly write: { readonly alerts: Pick<AlertWrites, "record"> };
}

/** Milliseconds between two evaluations. */
const evaluationMs = 60_000;

/** Evaluates all alerts each minute. The timer does not keep the process alive. */
export class AlertEvaluator {
  readonly #store: EvaluatorStore;
  readonly #onEnqueued: () => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  /** @param onEnqueued - called after deliveries of webhooks were stored */
  constructor(store: EvaluatorStore, onEnqueued: () => void) {
    this.#store = store;
    this.#onEnqueued = onEnqueued;
  }

  start(): void {
    this.#timer = setInterval(() => {
      // While a round of evaluations takes longer than a minute, the rounds that would begin meanwhile are skipped.
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined;
      });
    }, evaluationMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#running;
  }

  /** Evaluates all alerts as of the given time. */
  async evaluateAll(nowMicros: number): Promise<void> {
    for (const alert of await this.#store.read.alerts.listActive()) {
      if (this.#isClosed) {
        return;
      }
      const evaluation = await this.#evaluate(alert, nowMicros);
      if (await this.#store.write.alerts.record([evaluation])) {
        this.#onEnqueued();
      }
    }
  }

  async #run(): Promise<void> {
    try {
      await this.evaluateAll(Date.now() * 1_000);
    } catch (cause) {
      if (!this.#isClosed) {
        process.emitWarning(
          `alerts were not evaluated, next attempt in ${evaluationMs / 1_000} s: ${messageOf(cause)}`,
        );
      }
    }
  }

  async #evaluate(alert: ActiveAlert, nowMicros: number): Promise<AlertEvaluation> {
    const { tenantId, id: alertId, windowMinutes } = alert;
    // The current minute is not over, so its counts are still growing.
    const toMicros = Math.floor(nowMicros / minuteMicros) * minuteMicros;
    const fromMicros = toMicros - windowMinutes * minuteMicros;
    const evaluation = { tenantId, alertId, atMicros: nowMicros, fromMicros, toMicros };
    try {
      const value = await this.#read(alert, fromMicros, toMicros);
      return value === "incomplete"
        ? {
            ...evaluation,
            value: undefined,
            problem:
              alert.filter === null
                ? "Some runs of the window are not counted yet. The alert keeps its state."
                : "The runs of the window could not be searched in time. The alert keeps its state. Choose a shorter window, or a filter that matches fewer runs.",
          }
        : { ...evaluation, value, problem: null };
    } catch (cause) {
      const problem = `The figure could not be computed: ${messageOf(cause)}`;
      return { ...evaluation, value: undefined, problem };
    }
  }

  async #read(
    { tenantId, projectId, scope, group, filter: filterText, figure }: ActiveAlert,
    fromMicros: number,
    toMicros: number,
  ): Promise<number | null | "incomplete"> {
    const filter = readFilter(selectRunFields(scope === "traces"), "filter", filterText);
    const { all, groups, missing } = await this.#store.read.metrics.read(tenantId, {
      projectId,
      scope,
      groupBy: group?.by,
      ...(group !== null && { value: group.value }),
      fromMicros,
      toMicros,
      widthMicros: minuteMicros,
      withinMs: filter === undefined ? alertLimits.readMs : alertLimits.filterMs,
      ...(filter !== undefined && { filter: { runFilters: [filter] } }),
    });
    if (missing.some((range) => range.toMicros > fromMicros)) {
      return "incomplete";
    }
    if (group === null) {
      return selectFigure(figure, all.total);
    }
    const matchingGroup = groups.find(
      ({ kind, value }) => kind === "value" && value === group.value,
    );
    return selectFigure(figure, matchingGroup?.total ?? noRuns);
  }
}

const noValues = { p50: null, p95: null, p99: null };

const noRuns: MetricValues = {
  runs: 0,
  errors: 0,
  tokens: 0,
  cost: 0,
  latency: noValues,
  firstToken: noValues,
};

/** Returns a figure; `null` if there are no runs from which it could be computed. */
function selectFigure(figure: AlertFigure, values: MetricValues): number | null {
  const { runs, errors, tokens, cost, latency, firstToken } = values;
  switch (figure) {
    case "runs":
      return runs;
    case "error_rate":
      return runs === 0 ? null : errors / runs;
    case "tokens":
      return tokens;
    case "cost":
      return cost;
    case "cost_per_run":
      return runs === 0 ? null : cost / runs;
    case "latency_p50":
      return toMs(latency.p50);
    case "latency_p95":
      return toMs(latency.p95);
    case "latency_p99":
      return toMs(latency.p99);
    case "first_token_p50":
      return toMs(firstToken.p50);
    case "first_token_p95":
      return toMs(firstToken.p95);
    case "first_token_p99":
      return toMs(firstToken.p99);
  }
}

const toMs = (micros: number | null): number | null => (micros === null ? null : micros / 1_000);
