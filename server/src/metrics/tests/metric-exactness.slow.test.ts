import { minuteMicros, hourMicros, dayMicros } from "../../model/durations.ts";
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { patchOf } from "../../../tests/support/store-fixture.ts";
import { wireRun } from "../../../tests/support/wire-runs.ts";
import { dimensions, scopes } from "../metrics.ts";
import type { Dimension, Metrics, Scope } from "../metrics.ts";
import { createMetricEngines } from "./metric-engines.ts";
import type { MetricDatabase, MetricEngine, RunsOfBatch } from "./metric-engines.ts";

/** The runs start in the last hour of a day and in the first ones of the next. */
const startMicros = Date.parse("2026-03-01T23:00:00Z") * 1_000;
const dayStartMicros = Date.parse("2026-03-01T00:00:00Z") * 1_000;

/** What the test expects of a stored run. */
interface KnownRun {
  readonly wire: ReturnType<typeof wireRun>;
  readonly startMicros: number;
  readonly name: string;
  readonly isRoot: boolean;
  readonly isModel: boolean;
  latencyMicros: number | undefined;
  /** When its first token arrived. */
  firstTokenMicros: number | undefined;
  hasError: boolean;
  tags: readonly string[];
  user: string | undefined;
  model: string | undefined;
  tokens: number;
}

type Step =
  | {
      readonly kind: "post";
      readonly second: number;
      readonly name: string;
      readonly isModel: boolean;
      readonly isChild: boolean;
      readonly tags: readonly string[];
      readonly user: string | undefined;
      readonly latencyMs: number | undefined;
      readonly firstTokenMs: number | undefined;
    }
  | {
      readonly kind: "patch";
      readonly run: number;
      readonly latencyMs: number;
      readonly hasError: boolean;
      readonly user: string;
      /** `undefined`: the patch has no events; `null`: its events have no token. */
      readonly firstTokenMs: number | null | undefined;
    }
  | { readonly kind: "delete"; readonly run: number }
  | { readonly kind: "repeat"; readonly run: number }
  | { readonly kind: "compute" };

const stepArbitrary = oneof(
  record({
    kind: constant("post" as const),
    second: integer({ min: 0, max: 3 * 3_600 }),
    name: constantFrom("ask", "search", "summarize"),
    isModel: boolean(),
    isChild: boolean(),
    tags: constantFrom([], ["eu"], ["eu", "prod"], ["prod", "prod"]),
    user: constantFrom(undefined, "ann", "bob"),
    latencyMs: constantFrom(undefined, 3, 250, 4_000, 90_000),
    firstTokenMs: constantFrom(undefined, 2, 700, 30_000),
  }),
  record({
    kind: constant("patch" as const),
    run: nat(),
    latencyMs: integer({ min: 1, max: 100_000 }),
    hasError: boolean(),
    user: constantFrom("ann", "carol"),
    firstTokenMs: constantFrom(undefined, undefined, null, 40, 9_000),
  }),
  record({ kind: constant("delete" as const), run: nat() }),
  record({ kind: constant("repeat" as const), run: nat() }),
  record({ kind: constant("compute" as const) }),
  record({ kind: constant("compute" as const) }),
);

const toIso = (micros: number): string => new Date(micros / 1_000).toISOString();

const createEvents = (firstTokenMicros: number | undefined) => [
  { name: "start", time: toIso(startMicros) },
  ...(firstTokenMicros === undefined ? [] : [{ name: "new_token", time: toIso(firstTokenMicros) }]),
];

/** What happened to the runs of a project, step by step. */
class Story {
  readonly #engine: MetricEngine;
  readonly runs: KnownRun[] = [];

  constructor(engine: MetricEngine) {
    this.#engine = engine;
  }

  async apply(step: Step, index: number): Promise<void> {
    switch (step.kind) {
      case "post":
        return this.#post(step);
      case "compute":
        return this.#engine.compute();
      default: {
        const run = this.runs[step.run % Math.max(1, this.runs.length)];
        if (run === undefined) {
          return;
        }
        if (step.kind === "patch") {
          await this.#patch(run, step, index);
        } else if (step.kind === "delete") {
          await this.#engine.deleteRun(run.wire.id);
          this.runs.splice(this.runs.indexOf(run), 1);
        } else {
          await this.#send({ post: [run.wire] });
        }
      }
    }
  }

  async #post({
    second,
    name,
    isModel,
    isChild,
    tags,
    user,
    latencyMs,
    firstTokenMs,
  }: Step & { kind: "post" }): Promise<void> {
    const micros = startMicros + second * 1_000_000;
    const firstTokenMicros = firstTokenMs === undefined ? undefined : micros + firstTokenMs * 1_000;
    const root = this.runs.find(({ isRoot }) => isRoot);
    const parent = isChild ? root?.wire : undefined;
    const model = isModel ? "test-model" : undefined;
    const wire = wireRun({
      micros,
      ...(parent === undefined ? {} : { parent }),
      name,
      run_type: isModel ? "llm" : "tool",
      session_name: "p",
      tags,
      extra: {
        metadata: {
          ...(user === undefined ? {} : { user_id: user }),
          ...(model === undefined ? {} : { ls_model_name: model }),
        },
      },
      ...(latencyMs === undefined ? {} : { end_time: toIso(micros + latencyMs * 1_000) }),
      ...(firstTokenMicros === undefined ? {} : { events: createEvents(firstTokenMicros) }),
      ...(isModel
        ? { outputs: { usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } } }
        : {}),
    });
    await this.#send({ post: [wire] });
    this.runs.push({
      wire,
      startMicros: micros,
      name,
      isRoot: parent === undefined,
      isModel,
      latencyMicros: latencyMs === undefined ? undefined : latencyMs * 1_000,
      firstTokenMicros,
      hasError: false,
      tags: [...new Set(tags)],
      user,
      model,
      tokens: isModel ? 3 : 0,
    });
  }

  async #patch(run: KnownRun, step: Step & { kind: "patch" }, index: number): Promise<void> {
    const { latencyMs, hasError, user, firstTokenMs } = step;
    // A patch replaces `extra` as a whole. Each patch differs, because a repeated one is ignored.
    const extra = { metadata: { langfuse_user_id: user, index } };
    const end = toIso(run.startMicros + latencyMs * 1_000);
    const fields = { extra, end_time: end, ...(hasError ? { error: "no" } : {}) };
    const firstTokenMicros =
      typeof firstTokenMs === "number" ? run.startMicros + firstTokenMs * 1_000 : undefined;
    const events = firstTokenMs === undefined ? {} : { events: createEvents(firstTokenMicros) };
    await this.#send({ patch: [patchOf(run.wire, { ...fields, ...events })] });
    if (firstTokenMs !== undefined) {
      run.firstTokenMicros = firstTokenMicros;
    }
    run.latencyMicros = latencyMs * 1_000;
    run.hasError ||= hasError;
    run.user = user;
    run.model = undefined;
  }

  async #send(batch: RunsOfBatch): Promise<void> {
    // Posts are written many at a time, or, like patches, one by one.
    const rejected = await this.#engine.send(batch, { isGrouped: this.runs.length % 2 === 0 });
    if (rejected.length > 0) {
      throw new Error(`the writer refused ${JSON.stringify(rejected)}`);
    }
  }
}

/** A range of whole points that contains all runs. */
const rangeOf = (widthMicros: number) =>
  widthMicros === dayMicros
    ? { fromMicros: dayStartMicros, toMicros: dayStartMicros + 2 * dayMicros }
    : { fromMicros: startMicros, toMicros: startMicros + 4 * hourMicros };

const isInScope = ({ isRoot, isModel }: KnownRun, scope: Scope): boolean =>
  scope === "all" || (scope === "traces" ? isRoot : isModel);

function statusOf({ hasError, latencyMicros }: KnownRun): string {
  if (hasError) {
    return "error";
  }
  return latencyMicros === undefined ? "pending" : "success";
}

function valuesOf(run: KnownRun, dimension: Dimension): readonly string[] {
  const { name, model, tags, user } = run;
  const values: { readonly [Name in Dimension]: readonly (string | undefined)[] } = {
    status: [statusOf(run)],
    name: [name],
    model: [model],
    tag: tags,
    user: [user],
  };
  return values[dimension].filter((value) => value !== undefined);
}

/** The tokens of all model calls of the trace of a root. */
const sumOfTrace = (runs: readonly KnownRun[], { wire }: KnownRun): number =>
  runs.filter((run) => run.wire.trace_id === wire.id).reduce((sum, { tokens }) => sum + tokens, 0);

/**
 * The time from the start of a run to its first token. A root without a first token has that of its trace, in the scope
 * of traces.
 */
function findFirstToken(
  runs: readonly KnownRun[],
  run: KnownRun,
  scope: Scope,
): number | undefined {
  const ofTrace =
    scope === "traces"
      ? runs
          .filter(({ wire }) => wire.trace_id === run.wire.id)
          .flatMap(({ firstTokenMicros }) => firstTokenMicros ?? [])
      : [];
  const time = run.firstTokenMicros ?? (ofTrace.length === 0 ? undefined : Math.min(...ofTrace));
  return time === undefined ? undefined : time - run.startMicros;
}

const findQuantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? 0;

/** The percentiles of the time to the first token per point, by value, as a scan of all runs gives them. */
function scanFirstTokens(
  runs: readonly KnownRun[],
  { scope, groupBy, widthMicros }: { scope: Scope; groupBy: Dimension; widthMicros: number },
) {
  const durations: Record<string, number[]> = {};
  for (const run of runs.filter((candidate) => isInScope(candidate, scope))) {
    const duration = findFirstToken(runs, run, scope);
    const point = Math.floor((run.startMicros - rangeOf(widthMicros).fromMicros) / widthMicros);
    const values = valuesOf(run, groupBy);
    for (const value of values.length === 0 ? ["(none)"] : values) {
      if (duration !== undefined) {
        (durations[`${value} ${point}`] ??= []).push(duration);
      }
    }
  }
  return Object.fromEntries(
    Object.entries(durations).map(([key, list]) => [
      key,
      [0.5, 0.95].map((share) => expectClose(findQuantile(list, share))),
    ]),
  );
}

/** Clocks differ, so a first token can precede the start. Such a time is counted as a microsecond. */
function expectClose(micros: number): unknown {
  const positive = Math.max(1, micros);
  return expect.closeTo(positive, -Math.log10(positive * 0.04));
}

const toFirstTokens = ({ groups }: Metrics) =>
  Object.fromEntries(
    groups.flatMap(({ kind, value, points }) =>
      points.flatMap(({ firstToken: { p50, p95 } }, point) =>
        p50 === null ? [] : [[`${kind === "value" ? value : `(${kind})`} ${point}`, [p50, p95]]],
      ),
    ),
  );

/** The numbers of runs, errors and tokens per point, by value, as a scan of all runs gives them. */
function scanAll(
  runs: readonly KnownRun[],
  { scope, groupBy, widthMicros }: { scope: Scope; groupBy: Dimension; widthMicros: number },
) {
  const points: Record<string, number> = {};
  for (const run of runs.filter((candidate) => isInScope(candidate, scope))) {
    const point = Math.floor((run.startMicros - rangeOf(widthMicros).fromMicros) / widthMicros);
    const values = valuesOf(run, groupBy);
    for (const value of values.length === 0 ? ["(none)"] : values) {
      const add = (name: string, count: number): void => {
        if (count > 0) {
          const key = `${value} ${point} ${name}`;
          points[key] = (points[key] ?? 0) + count;
        }
      };
      add("runs", 1);
      add("errors", run.hasError ? 1 : 0);
      add("tokens", scope === "traces" ? sumOfTrace(runs, run) : run.tokens);
    }
  }
  return points;
}

function toPoints({ groups }: Metrics) {
  const points: Record<string, number> = {};
  for (const { kind, value, points: ofGroup } of groups) {
    ofGroup.forEach((values, point) => {
      for (const name of ["runs", "errors", "tokens"] as const) {
        if (values[name] > 0) {
          points[`${kind === "value" ? value : `(${kind})`} ${point} ${name}`] = values[name];
        }
      }
    });
  }
  return points;
}

async function expectExact(engine: MetricEngine, runs: readonly KnownRun[]): Promise<void> {
  const read = (scope: Scope, groupBy: Dimension, widthMicros: number): Promise<Metrics> =>
    engine.read({ ...rangeOf(widthMicros), widthMicros, scope, groupBy, withinMs: 60_000 });
  for (const widthMicros of [5 * minuteMicros, hourMicros, dayMicros]) {
    for (const scope of scopes) {
      for (const groupBy of dimensions) {
        const metrics = await read(scope, groupBy, widthMicros);
        expect(metrics.missing).toEqual([]);
        const selection = { scope, groupBy, widthMicros };
        expect(toPoints(metrics)).toEqual(scanAll(runs, selection));
        expect(toFirstTokens(metrics)).toEqual(scanFirstTokens(runs, selection));
      }
      const inScope = runs.filter((run) => isInScope(run, scope));
      const { total } = (await read(scope, "tag", widthMicros)).all;
      expect(total.runs).toBe(inScope.length);
      const latencies = inScope
        .flatMap(({ latencyMicros }) => latencyMicros ?? [])
        .toSorted((a, b) => a - b);
      const exact = latencies[Math.ceil(latencies.length * 0.95) - 1];
      const { p95 } = total.latency;
      expect(p95 === null).toBe(exact === undefined);
      expect(Math.abs((p95 ?? 0) - (exact ?? 0))).toBeLessThanOrEqual((exact ?? 0) * 0.02);
    }
  }
}

describe.each(createMetricEngines())("on $name", ({ open, stories }) => {
  let database: MetricDatabase;
  beforeAll(async () => {
    database = await open();
  }, 60_000);
  afterAll(() => database.close());

  test("whatever was posted, patched, repeated and deleted, metrics are those of a scan of all runs", async () => {
    await assert(
      asyncProperty(
        array(stepArbitrary, { minLength: 5, maxLength: 40, size: "max" }),
        async (steps) => {
          const engine = await database.createEngine();
          const story = new Story(engine);
          for (const [index, step] of steps.entries()) {
            await story.apply(step, index);
          }
          // Once while some units are out of date, and once when all metrics are stored.
          await expectExact(engine, story.runs);
          await engine.computeAll();
          await expectExact(engine, story.runs);
          await engine.close();
        },
      ),
      { numRuns: stories },
    );
  }, 120_000);
});
