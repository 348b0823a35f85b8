import { expect, test } from "vitest";
import { outboundCalls } from "../../outbound/outbound-limits.ts";
import { CallRate } from "../call-rate.ts";

test("a minute later, as many calls as before are possible again", () => {
  let nowMs = 0;
  const rate = new CallRate(2, () => nowMs);
  rate.begin("t")();
  nowMs = 30_000;
  rate.begin("t")();
  expect(() => rate.begin("t")).toThrow(
    expect.objectContaining({ status: 429, retryAfterSeconds: 30 }) as Error,
  );
  expect(() => rate.begin("u")).not.toThrow();
  nowMs = 60_001;
  rate.begin("t")();
  expect(() => rate.begin("t")).toThrow(/more than 2 model calls/);
});

test("calls at the same time are limited, and an end counts once", () => {
  const rate = new CallRate(1_000);
  const ends = Array.from({ length: outboundCalls.ofTenant }, () => rate.begin("t"));
  expect(() => rate.begin("t")).toThrow(/are running/);
  ends[0]?.();
  ends[0]?.();
  rate.begin("t");
  expect(() => rate.begin("t")).toThrow(/are running/);
});
