import { expect, test } from "vitest";
import {
  microsToIso,
  microsToStamp,
  stampToIso,
  stampToMicros,
} from "../../src/model/dotted-order.ts";

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

test.each([0, 1_999_999, 1_795_687_931_000_042, Date.UTC(9999, 11, 31) * 1_000])(
  "%d microseconds are the same time in both formats",
  (micros) => {
    expect(microsToIso(micros)).toBe(stampToIso(microsToStamp(micros)));
    expect(Date.parse(microsToIso(micros))).toBe(Math.floor(micros / 1_000));
  },
);
