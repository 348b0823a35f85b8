import { expect, test } from "vitest";
import { stampToMicros } from "../../src/model/dotted-order.ts";

test.each([
  ["20261121T235959999999Z", Date.UTC(2026, 10, 22) * 1_000 - 1],
  ["20261121T240000000000Z", Date.UTC(2026, 10, 22) * 1_000],
  // Later than the end of the day, by microseconds and by milliseconds.
  ["20261121T240000000500Z", Number.NaN],
  ["20261121T240000001000Z", Number.NaN],
  ["20261121T250000000000Z", Number.NaN],
  ["20261321T000000000000Z", Number.NaN],
])("%s is %d microseconds", (stamp, micros) => {
  expect(stampToMicros(stamp)).toBe(micros);
  // The second time, the second is known.
  expect(stampToMicros(stamp)).toBe(micros);
});
