import { describe, expect, test } from "vitest";
import type { Expiration } from "../../src/api/feedback-expiry.ts";
import type { CreateFeedback, UpdateFeedback } from "../../src/api/feedback-input.ts";
import { Feedbacks } from "../../src/api/feedback.ts";
import { createTestHttp } from "../support/api.ts";
import { mswServer } from "../support/msw-server.ts";
import { noUploads } from "../support/no-uploads.ts";

const id = "0f0e0d0c-0b0a-4908-8706-050403020100";

const feedbackAt = (endpoint: string): Feedbacks =>
  new Feedbacks(createTestHttp(endpoint).http.call, noUploads);

describe("refused before anything is sent", () => {
  const code = "VALIDATION";

  test("feedback requires a run or a project, with the messages of the product specification", async () => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    const none = [{ key: "k" }, { key: "k", runId: null }, { key: "k", projectId: undefined }];
    for (const target of none) {
      await expect(feedback.create(target as unknown as CreateFeedback)).rejects.toMatchObject({
        code,
        message: "One of runId or projectId must be provided",
      });
    }
    const both = { key: "k", runId: id, projectId: id } as unknown as CreateFeedback;
    await expect(feedback.create(both)).rejects.toMatchObject({
      code,
      message: "Only one of runId or projectId can be provided",
    });
    expect(server.requests).toEqual([]);
  });

  test("invalid ids, keys, scores and changes", async () => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    const valid = { runId: id, key: "k" };
    const failures = [
      feedback.create({ runId: "r", key: "k" }),
      feedback.create({ projectId: "p", key: "k" }),
      feedback.create({ runId: id, key: "" }),
      feedback.create({ runId: id, key: 7 as unknown as string }),
      feedback.create({ ...valid, id: "f" }),
      feedback.create({ ...valid, score: Number.NaN }),
      feedback.create({ ...valid, score: Number.POSITIVE_INFINITY }),
      feedback.create({ ...valid, sourceRunId: "r" }),
      feedback.create({ ...valid, sourceMetadata: { __run: { run_id: "r" } } }),
      feedback.create({ ...valid, comparativeExperimentId: "c" }),
      feedback.create({ ...valid, traceId: "t" }),
      feedback.create({ ...valid, runProjectId: "p" }),
      feedback.create({ ...valid, runStartTime: "soon" }),
      feedback.create({ ...valid, value: 1n }),
      feedback.read("f"),
      feedback.update("f", { score: 1 }),
      feedback.update(id, {}),
      feedback.update(id, { score: Number.NaN } satisfies UpdateFeedback),
      feedback.delete("f"),
      feedback.createToken("r", "k"),
      feedback.createToken(id, ""),
      feedback.createTokens([
        { runId: id, feedbackKey: "k" },
        { runId: "r", feedbackKey: "k" },
      ]),
    ];
    expect(await Promise.allSettled(failures)).toMatchObject(
      failures.map(() => ({ status: "rejected", reason: { code } })),
    );
    await expect(feedback.update(id, {})).rejects.toThrow(
      "No valid update options provided: give at least one of score, value, comment, correction or feedbackConfig",
    );
    for (const limit of [0, -1, 1.5, Number.NaN, "100" as unknown as number]) {
      expect(() => feedback.list({ limit })).toThrow(/^limit must be/);
      expect(() => feedback.list({ runIds: [id], limit })).toThrow(/^limit must be/);
    }
    expect(() => feedback.list({ runIds: ["x"] })).toThrow('Invalid UUID for run id: "x"');
    expect(() => feedback.list({ projectIds: ["x"] })).toThrow('Invalid UUID for project id: "x"');
    expect(() => feedback.list({ minCreatedAt: "soon" })).toThrow(/^minCreatedAt must be/);
    expect(() => feedback.listTokens("x")).toThrow('Invalid UUID for run id: "x"');
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["a text", "5", "not a value of type string"],
    ["an object", { score: 5 }, "not a value of type object"],
    ["a list", [5], "not a value of type object"],
    ["a bigint", 5n, "not a value of type bigint"],
    ["infinity", Number.POSITIVE_INFINITY, "not Infinity"],
  ])("a score that is %s", async (_name, score, given) => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    const message = `score must be a finite number, a boolean or null, ${given}. Convert a text with Number(score), or pass it as \`value\``;
    const invalid = { score: score as number };
    const expected = { code, message };
    await expect(feedback.create({ runId: id, key: "k", ...invalid })).rejects.toMatchObject(
      expected,
    );
    await expect(feedback.update(id, invalid)).rejects.toMatchObject(expected);
    expect(server.requests).toEqual([]);
  });

  test.each([
    ["a past date string", "2020-01-01T00:00:00Z", "in the future"],
    ["a past date", new Date(0), "in the future"],
    ["the current moment", {}, "in the future"],
    ["a duration of zero", { hours: 0 }, "in the future"],
    ["an invalid date string", "soon", "must be a Date"],
    ["an empty string", "", "must be a Date"],
    ["an invalid date", new Date(Number.NaN), "must be a Date"],
    ["a negative duration", { days: 2, hours: -1 }, "hours must be a whole number of at least 0"],
    ["half an hour", { hours: 0.5 }, "hours must be a whole number of at least 0"],
    ["a duration of NaN", { minutes: Number.NaN }, "minutes must be a whole number of at least 0"],
    ["a string instead of a number", { days: "1" }, "days must be a whole number of at least 0"],
    ["null", null, "in the future"],
    ["more days than a calendar has", { days: 2 ** 50 }, "before the year 10000"],
  ])("a token can't expire at %s", async (_name, expiration, reason) => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    const given = { expiration: expiration as Expiration };
    await expect(feedback.createToken(id, "k", given)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(reason) as unknown,
    });
    expect(server.requests).toEqual([]);
  });

  test("a call whose signal is aborted", async () => {
    const server = await mswServer();
    const feedback = feedbackAt(server.endpoint);
    const signal = AbortSignal.abort();
    const outcomes = await Promise.allSettled([
      feedback.create({ runId: id, key: "k", signal }),
      feedback.read(id, { signal }),
      feedback.update(id, { score: 1, signal }),
      feedback.delete(id, { signal }),
      feedback.list({ signal }).toArray(),
      feedback.createToken(id, "k", { signal }),
      feedback.createTokens([{ runId: id, feedbackKey: "k" }], { signal }),
      feedback.listTokens(id, { signal }).toArray(),
    ]);
    expect(outcomes).toMatchObject(outcomes.map(() => ({ reason: { code: "ABORTED" } })));
    expect(server.requests).toEqual([]);
  });
});
