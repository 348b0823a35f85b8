import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRetryAfter, defaultRetryWaits, computeWaitMs } from "../../src/transport/retry.ts";

const now = Date.parse("2026-11-21T10:11:12Z");
const waits = { ...defaultRetryWaits, retryAfterLimitMs: 60_000 };

describe("Retry-After", () => {
  test.each<readonly [string | undefined, number | undefined]>([
    ["0", 0],
    ["2", 2_000],
    [" 120 ", 120_000],
    ["Sat, 21 Nov 2026 10:11:42 GMT", 30_000],
    ["Saturday, 21-Nov-26 10:11:42 GMT", 30_000],
    ["Sat, 21 Nov 2026 10:00:00 GMT", 0],
    ["Sat, 99 Nov 2026 10:00:00 GMT", undefined],
    ["", undefined],
    [undefined, undefined],
    ["-5", undefined],
    ["1.5", undefined],
    ["1e9", undefined],
    ["0x10", undefined],
    ["NaN", undefined],
    ["soon", undefined],
    ["in the year 2999", undefined],
    ["2, 3", undefined],
  ])("%j is %j ms", (value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });

  test("digits without end are a long wait, not an error", () => {
    expect(parseRetryAfter("9".repeat(400), now)).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("the wait between tries", () => {
  test("doubles, and never leaves the half-open range of its jitter", () => {
    const anyTry = fc.record({
      attempt: fc.integer({ min: 1, max: 40 }),
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    });
    fc.assert(
      fc.property(anyTry, (failed) => {
        const longest = Math.min(10_000, 250 * 2 ** failed.attempt);
        const wait = computeWaitMs(failed, waits);
        return wait >= longest / 2 && wait < longest;
      }),
    );
  });

  test("a server that asks for longer is waited for, up to the limit", () => {
    expect(computeWaitMs({ attempt: 1, retryAfterMs: 7_000, random: 0 }, waits)).toBe(7_000);
    expect(computeWaitMs({ attempt: 1, retryAfterMs: 90_000, random: 0 }, waits)).toBe(60_000);
    expect(computeWaitMs({ attempt: 6, retryAfterMs: 10, random: 0 }, waits)).toBe(5_000);
  });
});
