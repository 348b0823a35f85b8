import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { KeyCache, CachedString } from "../../src/tracing/tape/string-cache.ts";
import { writeJsonOfValues } from "../support/written-json.ts";

const asJson = (values: readonly unknown[]): string[] =>
  values.map((value) => JSON.stringify(value));

test("records of one shape are written like the first of them", () => {
  const values = Array.from({ length: 5 }, (_, n) => ({
    role: "user",
    content: `question ${n}`,
    usage: { input: n, kind: "chat" },
  }));
  expect(writeJsonOfValues(values)).toEqual(asJson(values));
});

test("shapes that change from record to record are written as they are", () => {
  const values = [
    { a: "one", b: { c: "two" } },
    { b: { d: "two", c: "three" }, a: "one" },
    { a: { a: { a: "one" } } },
    { a: ["one", "two", { a: "one" }] },
    { "": "", a: "", b: 1 },
    {},
    { b: "one" },
    { a: "on", aa: "one", aaa: "one" },
    { a: "one", b: { c: "two" } },
  ];
  expect(writeJsonOfValues(values)).toEqual(asJson(values));
});

test.each([
  "",
  "x",
  "eight_87",
  "fifteen_letters",
  "sixteen__letters",
  "\u007f",
  "\u007f".repeat(7),
  "\u007f".repeat(15),
  "\0".repeat(7),
  "é",
  "ключ",
  "𐀀",
  "𐀀𐀀𐀀𐀀𐀀𐀀",
  '"quoted\\"\n',
  "k".repeat(64),
  "k".repeat(65),
])("key and text %j are written the same every time", (text) => {
  const values = Array.from({ length: 4 }, () => ({ [text]: text, second: { [text]: text } }));
  expect(writeJsonOfValues(values)).toEqual(asJson(values));
});

test("a text that changes every time is written as it is, for as long as it does", () => {
  const values = Array.from({ length: 60 }, (_, n) => ({
    role: n % 3 === 0 ? "user" : `role${n}`,
  }));
  expect(writeJsonOfValues(values)).toEqual(asJson(values));
});

test("more keys than the cache holds are still written", () => {
  const values = Array.from({ length: 3 }, () =>
    Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`key${n}`, `text${n}`])),
  );
  expect(writeJsonOfValues(values)).toEqual(asJson(values));
});

test("the key cache stays small", () => {
  const keys = new KeyCache();
  const found = Array.from({ length: 5_000 }, (_, n) => keys.find(`key${n}`));
  expect(new Set(found).size).toBe(1_025);
  expect(keys.find("k".repeat(65))).toBe(keys.uncached);
  expect(keys.find("key7")).toBe(found[7]);
});

test("a text of surrogate pairs is not cached", () => {
  expect(new CachedString("𐀀".repeat(6)).size).toBe(0);
});

test("records at a tape's end, and fields at their limit, are the same as without a cache", () => {
  const value = {
    role: "user",
    content: "c".repeat(40),
    parts: [{ role: "user" }, { role: "tool" }],
  };
  for (let tapeBytes = 16; tapeBytes < 600; tapeBytes++) {
    expect(writeJsonOfValues([value, value, value], tapeBytes)).toEqual(
      asJson([value, value, value]),
    );
  }
  for (let fieldBytes = 1_024; fieldBytes < 1_200; fieldBytes++) {
    const many = Array.from({ length: 30 }, () => value);
    const [first, second] = writeJsonOfValues([many, many], 65_536, fieldBytes);
    expect(second).toBe(first);
  }
});

test("a cached substring does not keep the long text in memory", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const keys = new KeyCache();
  const holder = keys.entryFor(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 100; n++) {
    const long = `${n} ${"x".repeat(1_000_000)}`;
    keys.find(Buffer.from(long).toString("latin1").slice(0, 40));
    holder.expectValue(Buffer.from(long).toString("latin1").slice(0, 14));
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  // Only cached keys can be found here: this one was cached when the memory was measured.
  expect(keys.find(`7 ${"x".repeat(38)}`)).not.toBe(keys.uncached);
});
