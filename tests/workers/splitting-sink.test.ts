import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Batch, Outcome } from "../../src/workers/sinks/sink.ts";
import { createSplittingSink } from "../../src/workers/sinks/splitting-sink.ts";
import { neverAborted } from "../support/connections.ts";
import { fakeBatch, outcomesByRun } from "../support/fake-batch.ts";
import { runId } from "../support/run-batch.ts";
import { scriptedSink } from "../support/scripted-sink.ts";

const delivered: Outcome = { kind: "delivered" };
const refused = (status: number): Outcome => ({
  kind: "rejected",
  rejection: { code: "HTTP", status, message: "bad" },
});

/** Refuses a batch that contains one of these runs. */
const badRuns =
  (numbers: readonly number[], status = 422) =>
  ({ runs }: Batch): Outcome =>
    runs.some(({ id }) => numbers.some((number) => runId(number) === id))
      ? refused(status)
      : delivered;

const rejectedAmong = (outcomes: readonly string[]): readonly number[] =>
  outcomes.flatMap((outcome, index) => (outcome === "rejected" ? [index + 1] : []));

test.each([400, 422])(
  "one bad run among 100 costs 14 requests, and only that run is rejected (%i)",
  async (status) => {
    const inner = scriptedSink(badRuns([77], status));
    const batch = fakeBatch(100);
    const outcome = await createSplittingSink(inner).send(batch, neverAborted());
    expect(rejectedAmong(outcomesByRun(batch, outcome))).toEqual([77]);
    expect(inner.batches.length - 1).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(100)));
  },
);

test("exactly the bad runs are rejected, whichever they are", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 40 })),
      async (count, numbers) => {
        const bad = numbers.filter((number) => number <= count).toSorted((a, b) => a - b);
        const batch = fakeBatch(count);
        const outcome = await createSplittingSink(scriptedSink(badRuns(bad))).send(
          batch,
          neverAborted(),
        );
        expect(rejectedAmong(outcomesByRun(batch, outcome))).toEqual(bad);
      },
    ),
  );
});

test("413 halves a batch until its parts are small enough", async () => {
  const inner = scriptedSink(({ runs }) => (runs.length > 30 ? refused(413) : delivered));
  const batch = fakeBatch(100);
  const outcome = await createSplittingSink(inner).send(batch, neverAborted());
  expect(inner.batches.map(({ runs }) => runs.length)).toEqual([100, 50, 50, 25, 25, 25, 25]);
  expect(new Set(outcomesByRun(batch, outcome))).toEqual(new Set(["delivered"]));
});

test.each([400, 413, 422])("a single run that is refused with %i is rejected", async (status) => {
  const inner = scriptedSink(refused(status));
  expect(await createSplittingSink(inner).send(fakeBatch(1), neverAborted())).toEqual(
    refused(status),
  );
  expect(inner.batches).toHaveLength(1);
});

test("a single run that is too large is sent with fewer and fewer fields until it is accepted", async () => {
  const tooLarge = (withheld: number): Batch => ({
    ...fakeBatch(1),
    sizeBytes: 100 - withheld,
    splitSingleRun: () => (withheld < 5 ? [tooLarge(withheld + 1)] : []),
  });
  const inner = scriptedSink(({ sizeBytes }) => (sizeBytes > 97 ? refused(413) : delivered));
  const batch = tooLarge(0);
  const outcome = await createSplittingSink(inner).send(batch, neverAborted());
  expect(inner.batches.map(({ sizeBytes }) => sizeBytes)).toEqual([100, 99, 98, 97]);
  expect(outcomesByRun(batch, outcome)).toEqual(["delivered"]);
});

test("a start and an end that are too large together are sent one after the other", async () => {
  const [start, end] = [fakeBatch(1), fakeBatch(2).withRuns(fakeBatch(2).runs.slice(1))];
  const both: Batch = { ...fakeBatch(1), splitSingleRun: () => [start, end] };
  const inner = scriptedSink((batch) => (batch === both ? refused(413) : delivered));
  const outcome = await createSplittingSink(inner).send(both, neverAborted());
  expect(inner.batches).toEqual([both, start, end]);
  expect(outcome).toMatchObject({ kind: "mixed", parts: [{ batch: start }, { batch: end }] });
});

test.each([401, 403, 404, 410])(
  "%i applies to all runs, so the batch is not halved",
  async (status) => {
    const inner = scriptedSink(refused(status));
    expect(await createSplittingSink(inner).send(fakeBatch(8), neverAborted())).toEqual(
      refused(status),
    );
    expect(inner.batches).toHaveLength(1);
  },
);

test("after a rejection without a status, such as a certificate error, the batch is not halved", async () => {
  const outcome: Outcome = {
    kind: "rejected",
    rejection: { code: "CERTIFICATE", message: "self-signed" },
  };
  const inner = scriptedSink(outcome);
  expect(await createSplittingSink(inner).send(fakeBatch(8), neverAborted())).toEqual(outcome);
  expect(inner.batches).toHaveLength(1);
});

test("a half that fails for another reason keeps that outcome", async () => {
  const unavailable: Outcome = { kind: "retry", reason: "503", isServerUnavailable: true };
  const inner = scriptedSink(refused(413), unavailable, delivered);
  const batch = fakeBatch(4);
  const outcome = await createSplittingSink(inner).send(batch, neverAborted());
  expect(outcomesByRun(batch, outcome)).toEqual(["retry", "retry", "delivered", "delivered"]);
});

test("a part of a batch that is refused as a whole is halved like a batch", async () => {
  const parted = (batch: Batch): Outcome => ({
    kind: "mixed",
    parts: [
      { batch: batch.withRuns(batch.runs.slice(0, 2)), outcome: delivered },
      { batch: batch.withRuns(batch.runs.slice(2)), outcome: refused(422) },
    ],
  });
  const inner = scriptedSink(parted, badRuns([3]));
  const batch = fakeBatch(6);
  const outcome = await createSplittingSink(inner).send(batch, neverAborted());
  expect(rejectedAmong(outcomesByRun(batch, outcome))).toEqual([3]);
});
