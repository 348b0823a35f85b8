import { expect, test } from "vitest";
import { createRetryingSink } from "../../src/workers/sinks/retrying-sink.ts";
import type { SinkRetryPolicy } from "../../src/workers/sinks/retrying-sink.ts";
import type { Batch, Outcome } from "../../src/workers/sinks/sink.ts";
import { neverAborted } from "../support/connections.ts";
import { fakeBatch, outcomesByRun } from "../support/fake-batch.ts";
import { scriptedSink } from "../support/scripted-sink.ts";

const retry: Outcome = { kind: "retry", reason: "503", isServerUnavailable: true };
const delivered: Outcome = { kind: "delivered" };
const rejected: Outcome = {
  kind: "rejected",
  rejection: { code: "HTTP", status: 400, message: "bad" },
};

/** A retry policy that collects its waits instead of waiting. */
function policyOf(options: Partial<SinkRetryPolicy> = {}) {
  const waits: number[] = [];
  const policy: SinkRetryPolicy = {
    attempts: 6,
    firstWaitMs: 100,
    maxWaitMs: 1_000,
    retryAfterLimitMs: 60_000,
    onRetry: () => undefined,
    onFailedAttempt: () => undefined,
    random: () => 0,
    wait: (delayMs) => {
      waits.push(delayMs);
      return Promise.resolve();
    },
    ...options,
  };
  return { policy, waits };
}

const sendTo = (
  inner: ReturnType<typeof scriptedSink>,
  policy: SinkRetryPolicy,
): Promise<Outcome> => createRetryingSink(inner, policy).send(fakeBatch(1), neverAborted());

test("a batch is attempted as often as the policy allows, and has the last outcome", async () => {
  const inner = scriptedSink(retry, retry, { ...retry, reason: "last" });
  let retries = 0;
  const { policy } = policyOf({ attempts: 3, onRetry: () => (retries += 1) });
  expect(await sendTo(inner, policy)).toEqual({ ...retry, reason: "last" });
  expect(inner.batches).toHaveLength(3);
  expect(retries).toBe(2);
});

test("with one attempt there is no wait", async () => {
  const inner = scriptedSink(retry);
  const { policy, waits } = policyOf({ attempts: 1 });
  expect(await sendTo(inner, policy)).toEqual(retry);
  expect(inner.batches).toHaveLength(1);
  expect(waits).toEqual([]);
});

test.each([delivered, rejected])("the outcome $kind is not retried", async (outcome) => {
  const inner = scriptedSink(retry, outcome, retry);
  const { policy } = policyOf();
  expect(await sendTo(inner, policy)).toEqual(outcome);
  expect(inner.batches).toHaveLength(2);
});

test("waits double up to the maximum", async () => {
  const { policy, waits } = policyOf({ attempts: 7 });
  await sendTo(scriptedSink(retry), policy);
  expect(waits).toEqual([100, 200, 400, 500, 500, 500]);
});

test("jitter adds at most the wait itself, also at the maximum wait", async () => {
  const { policy, waits } = policyOf({ attempts: 7, random: () => 0.999 });
  await sendTo(scriptedSink(retry), policy);
  expect(waits.map(Math.round)).toEqual([200, 400, 800, 1_000, 1_000, 1_000]);
});

test("with the default random source, no two waits are the same", async () => {
  const { policy, waits } = policyOf({ attempts: 50 });
  const { random: _random, ...plain } = policy;
  await sendTo(scriptedSink(retry), plain);
  expect(new Set(waits).size).toBe(waits.length);
  expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
});

test.each([
  [0, 100],
  [50, 100],
  [7_000, 7_050],
  [86_400_000, 60_050],
  [Number.POSITIVE_INFINITY, 60_050],
])("a Retry-After of %d ms is a wait of %d ms", async (retryAfterMs, expected) => {
  const { policy, waits } = policyOf({ attempts: 2, random: () => 0.5, firstWaitMs: 100 });
  await sendTo(scriptedSink({ ...retry, retryAfterMs }), { ...policy, maxWaitMs: 133.333_333 });
  expect(Math.round(waits[0] ?? 0)).toBe(expected);
});

test("only the failed part of a batch is sent again, and each run has one outcome", async () => {
  const mixed = (batch: Batch): Outcome => ({
    kind: "mixed",
    parts: [
      { batch: batch.withRuns(batch.runs.slice(0, 1)), outcome: delivered },
      { batch: batch.withRuns(batch.runs.slice(1, 2)), outcome: rejected },
      { batch: batch.withRuns(batch.runs.slice(2)), outcome: retry },
    ],
  });
  const inner = scriptedSink(mixed, delivered);
  const { policy } = policyOf();
  const batch = fakeBatch(5);
  const outcome = await createRetryingSink(inner, policy).send(batch, neverAborted());
  expect(inner.batches.map(({ runs }) => runs.length)).toEqual([5, 3]);
  expect(outcomesByRun(batch, outcome)).toEqual([
    "delivered",
    "rejected",
    "delivered",
    "delivered",
    "delivered",
  ]);
});

test("a final failure applies only to the runs that still failed", async () => {
  const half = (batch: Batch): Outcome => ({
    kind: "mixed",
    parts: batch.runs.map((run, index) => ({
      batch: batch.withRuns([run]),
      outcome: index === 0 ? delivered : retry,
    })),
  });
  const { policy } = policyOf({ attempts: 2 });
  const batch = fakeBatch(4);
  const outcome = await createRetryingSink(scriptedSink(half), policy).send(batch, neverAborted());
  expect(outcomesByRun(batch, outcome)).toEqual(["delivered", "delivered", "retry", "retry"]);
});

test("an abort during a wait ends at once with the last outcome", async () => {
  const { policy } = policyOf({ firstWaitMs: 3_600_000, maxWaitMs: 3_600_000 });
  const { wait: _wait, ...patient } = policy;
  const abort = new AbortController();
  const inner = scriptedSink(() => {
    // After this attempt the sink begins to wait.
    setImmediate(() => abort.abort());
    return { ...retry, reason: "the last one" };
  });
  const outcome = await createRetryingSink(inner, patient).send(fakeBatch(1), abort.signal);
  expect(outcome).toEqual({ ...retry, reason: "the last one" });
  expect(inner.batches).toHaveLength(1);
});

test("an abort during an attempt ends with its outcome, without another attempt", async () => {
  const abort = new AbortController();
  const inner = scriptedSink(() => {
    abort.abort();
    return retry;
  });
  const { policy, waits } = policyOf();
  expect(await createRetryingSink(inner, policy).send(fakeBatch(1), abort.signal)).toEqual(retry);
  expect(inner.batches).toHaveLength(1);
  expect(waits).toEqual([]);
});

test("runs that were delivered before the abort count as delivered", async () => {
  const abort = new AbortController();
  const inner = scriptedSink(() => {
    abort.abort();
    return delivered;
  });
  const { policy } = policyOf();
  expect(await createRetryingSink(inner, policy).send(fakeBatch(1), abort.signal)).toEqual(
    delivered,
  );
});

test("an abort before the first attempt sends nothing", async () => {
  const inner = scriptedSink(delivered);
  const { policy } = policyOf();
  const outcome = await createRetryingSink(inner, policy).send(fakeBatch(1), AbortSignal.abort());
  expect(outcome).toMatchObject({ kind: "retry", isServerUnavailable: true });
  expect(inner.batches).toHaveLength(0);
});

test.each([new TypeError("bug"), new Error("bug")])("a bug passes through: %s", async (bug) => {
  const { policy } = policyOf();
  const sink = createRetryingSink({ send: () => Promise.reject(bug) }, policy);
  await expect(sink.send(fakeBatch(1), neverAborted())).rejects.toBe(bug);
});
