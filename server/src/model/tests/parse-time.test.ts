import * as fc from "fast-check";
import { expect, test } from "vitest";
import { latestMicros, parseTime, parseTimeBound } from "../parse-time.ts";
import { toIso } from "../../http/wire-text.ts";

test("an ISO text with microseconds is formatted back unchanged", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000_000_000 }), (micros) => {
      expect(parseTime(toIso(micros))).toBe(micros);
    }),
  );
});

test.each([
  ["2026-11-21T10:11:12.345678Z", 1_795_255_872_345_678],
  ["2026-11-21T10:11:12.345678", 1_795_255_872_345_678],
  ["2026-11-21 10:11:12.345678+00:00", 1_795_255_872_345_678],
  ["2026-11-21T12:11:12.345678+02:00", 1_795_255_872_345_678],
  ["2026-11-21T04:41:12.345678-0530", 1_795_255_872_345_678],
  ["2026-11-21T10:11:12.345678999Z", 1_795_255_872_345_678],
  ["2026-11-21T10:11:12Z", 1_795_255_872_000_000],
  ["2026-11-21T10:11Z", 1_795_255_860_000_000],
  [1_795_255_872_345, 1_795_255_872_345_000],
  [1_795_255_872_345.678, 1_795_255_872_345_678],
  [0, 0],
  ["2255-06-05T23:47:34.740991Z", Number.MAX_SAFE_INTEGER],
])("%j is %d", (value, micros) => {
  expect(parseTime(value)).toBe(micros);
});

test.each([
  "yesterday",
  "2026-02-30T00:00:00Z",
  "2026-13-01T00:00:00Z",
  "2026-01-01T24:00:00Z",
  "2026-01-01T00:60:00Z",
  "1969-12-31T23:59:59Z",
  "2255-06-05T23:47:34.740992Z",
  "9999-12-31T23:59:59.999999Z",
  "0070-01-01T00:00:00Z",
  "0099-12-31T23:59:59.999999Z",
  "2026-11-21T10:11   .345678Z",
  "",
  -1,
  Number.NaN,
  1e30,
  true,
  null,
  {},
])("%j is not a time", (value) => {
  expect(parseTime(value)).toBeUndefined();
});

test.each(["2255-06-05T23:47:34.740992Z", "9999-12-31T23:59:59.999999Z", 253_402_300_799_999])(
  "%j is later than the latest time that can be stored",
  (value) => {
    expect(parseTimeBound(value)).toBe(latestMicros);
  },
);

test("the bound of a query is parsed as a time too", () => {
  expect(parseTimeBound("soon")).toBeUndefined();
  expect(parseTimeBound("2026-11-21T10:11:12Z")).toBe(1_795_255_872_000_000);
});
