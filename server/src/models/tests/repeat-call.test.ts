import { expect, test } from "vitest";
import { RequestError } from "../../model/errors.ts";
import { CallRate } from "../call-rate.ts";
import type { PricedAnswer, TenantCall } from "../model-caller.ts";
import { callWithinRate } from "../repeat-call.ts";

const answer: PricedAnswer = {
  text: "yes",
  thinking: "",
  durationMs: 5,
  toolCalls: [],
  cost: { reason: "no price" },
};
const createCall = (signal = new AbortController().signal) => ({
  tenantId: "t",
  endpointName: "local",
  request: { model: "m", messages: [] },
  signal,
});

test("a call waits while the tenant has made too many calls, and is then made once", async () => {
  let called = 0;
  const models = {
    call: async (): Promise<PricedAnswer> => {
      called += 1;
      if (called < 3) {
        throw new RequestError(429, "more than 2 model calls in a minute", 0.02);
      }
      return answer;
    },
  };
  expect(await callWithinRate(models, createCall())).toBe(answer);
  expect(called).toBe(3);
});

test("a job with more calls than a minute permits makes all of them", async () => {
  let nowMs = 0;
  const rate = new CallRate(2, () => nowMs);
  const models = {
    call: async ({ tenantId }: TenantCall): Promise<PricedAnswer> => {
      try {
        rate.begin(tenantId)();
        return answer;
      } catch (cause) {
        // The clock of the test passes the time that the call would wait.
        nowMs += 60_000;
        throw new RequestError(429, String(cause), 0.001);
      }
    },
  };
  const answers = await Promise.all(
    Array.from({ length: 7 }, async () => callWithinRate(models, createCall())),
  );
  expect(answers).toHaveLength(7);
});

test.each([
  ["a spent budget, which ends with the day", new RequestError(429, "spent", 3_600)],
  ["a limit without a time", new RequestError(429, "too many")],
  ["an endpoint that does not exist", new RequestError(404, "none")],
])("a call does not wait for %s", async (_, error) => {
  const models = {
    call: async (): Promise<PricedAnswer> => {
      throw error;
    },
  };
  await expect(callWithinRate(models, createCall())).rejects.toBe(error);
});

test("a canceled call does not wait any longer", async () => {
  const controller = new AbortController();
  const models = {
    call: async (): Promise<PricedAnswer> => {
      setTimeout(() => controller.abort(new Error("canceled")), 10);
      throw new RequestError(429, "too many", 50);
    },
  };
  await expect(callWithinRate(models, createCall(controller.signal))).rejects.toThrow("aborted");
});
