import { expect, test } from "vitest";
import { formatDuration, formatTime, parseTimeMs } from "../../../src/components/time/time.ts";

test.each([
  [0, "< 1 µs"],
  [0.0042, "4 µs"],
  [1.234, "1.23 ms"],
  [9.996, "10.0 ms"],
  [999.4, "999 ms"],
  [999.6, "1.00 s"],
  [59_940, "59.9 s"],
  [59_960, "1 m 00 s"],
  [125_000, "2 m 05 s"],
  [11_220_000, "3 h 07 m"],
])("%d ms reads %s", (spanMs, text) => {
  expect(formatDuration(spanMs)).toBe(text);
});

test("the microseconds of a time are kept", () => {
  const start = parseTimeMs("2026-03-01T14:05:09.123456Z") ?? 0;
  const end = parseTimeMs("2026-03-01T14:05:09.123999+00:00") ?? 0;
  expect((end - start) * 1_000).toBeCloseTo(543, 0);
});

test("an invalid time is undefined", () => {
  expect([null, "soon", Number.NaN, {}].map(parseTimeMs)).toEqual(Array(4).fill(undefined));
});

test("a time is formatted in the local time zone, to the millisecond", () => {
  expect(formatTime(new Date(2026, 2, 1, 4, 5, 9, 7).getTime())).toBe("2026-03-01 04:05:09.007");
});
