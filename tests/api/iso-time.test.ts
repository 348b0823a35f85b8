import { describe, expect, test } from "vitest";
import { toIsoTime } from "../../src/api/http/iso-time.ts";

describe("a time becomes ISO 8601 in UTC", () => {
  test.each([
    [new Date(1), "1970-01-01T00:00:00.001Z"],
    // Texts in this form are sent as they are, so no digit is lost.
    ["2024-05-01T10:11:12.345678Z", "2024-05-01T10:11:12.345678Z"],
    ["2024-05-01T10:11:12.345678901Z", "2024-05-01T10:11:12.345678901Z"],
    ["2024-05-01T10:11:12Z", "2024-05-01T10:11:12Z"],
    // A day, month or year means its start.
    ["2024-05-01", "2024-05-01T00:00:00Z"],
    ["2024-05", "2024-05-01T00:00:00Z"],
    ["2024", "2024-01-01T00:00:00Z"],
    // Without a time zone, a text is in UTC, wherever the program runs.
    ["2024-05-01T10:11:12.345678", "2024-05-01T10:11:12.345678Z"],
    ["2024-05-01 10:11", "2024-05-01T10:11:00Z"],
    ["2024-05-01t10:11:12,5z", "2024-05-01T10:11:12.5Z"],
    ["2024-05-01T00:11:12.345678+02:00", "2024-04-30T22:11:12.345678Z"],
    ["2024-02-29T23:30:00-0130", "2024-03-01T01:00:00Z"],
    ["2024-05-01T10:11:12 +02", "2024-05-01T08:11:12Z"],
    // More than nine digits would be refused by the server.
    ["2024-05-01T10:11:12.3456789012Z", "2024-05-01T10:11:12.345678901Z"],
    ["Wed, 01 May 2024 10:11:12 GMT", "2024-05-01T10:11:12Z"],
    ["1 May 2024 10:11:12 +0200", "2024-05-01T08:11:12Z"],
  ])("%s", (time, expected) => {
    expect(toIsoTime(time, "endTime")).toBe(expected);
  });
});

test.each([
  "soon",
  "",
  "2024-02-30",
  "2024-13-01",
  "2024-05-01T24:00:00Z",
  "2024-05-01T10:60:00Z",
  "2024-05-01T10:11:12.Z",
  "2024-05-01T10:11:12+25:00",
  "0000-01-01T00:00:00+01:00",
  // These mean different times in different time zones, or different days in different countries.
  "2024/05/01",
  "May 1, 2024",
  "5/1/2024",
  "Wed, 31 Feb 2024 10:11:12 GMT",
  new Date(Number.NaN),
  new Date(8.64e15),
])("%s is refused", (time) => {
  expect(() => toIsoTime(time, "endTime")).toThrow(/^endTime must be a Date, or a time such as/);
});

test("what is neither a Date nor a text is refused", () => {
  const call = toIsoTime as (time: unknown, name: string) => string | undefined;
  expect(() => call(1, "endTime")).toThrow(/^endTime must be a Date/);
  expect(call(undefined, "endTime")).toBeUndefined();
});
