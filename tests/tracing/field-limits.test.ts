import { describe, expect, test } from "vitest";
import { createTestBatcher, runsOf } from "../support/batching.ts";
import { writeJson } from "../support/written-json.ts";
import { encodeWire } from "../../src/tracing/tape/record-encoder.ts";

const limit = 4_096;
const cut = (value: unknown): unknown => JSON.parse(writeJson(value, 512, limit));
const cutText = (text: string): string => cut(text) as string;

describe("a text beyond the limit", () => {
  test("keeps its beginning, and the marker says how much is missing", () => {
    const text = cutText("ab".repeat(5_000));
    const [, keptPart = "", rest] =
      /^((?:ab)*a?)…\[truncated: (\d+) more characters\]$/.exec(text) ?? [];
    expect(keptPart.length + Number(rest)).toBe(10_000);
    expect(keptPart.length).toBeGreaterThan(limit / 2);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
  });

  test.each(["🌊", "a🌊", "é", "水🎡", "\u{10FFFF}x"])(
    "is never truncated within a character: %s",
    (part) => {
      for (const shift of ["", "x", "xx", "xxx"]) {
        const text = cutText(shift + part.repeat(4_000));
        const keptPart = text.slice(0, text.indexOf("…"));
        expect(text.isWellFormed()).toBe(true);
        expect((shift + part.repeat(4_000)).startsWith(keptPart)).toBe(true);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
      }
    },
  );

  test("of lone surrogates keeps them", () => {
    expect(cutText("\ud800".repeat(5_000))).toMatch(/^\ud800+…\[truncated: \d+ more characters\]$/);
  });

  test("leaves space for small values after it", () => {
    const value = { long: "x".repeat(100_000), question: "why?", n: 7, list: [1, { a: true }] };
    expect(cut(value)).toEqual({
      ...value,
      long: expect.stringContaining("…[truncated: ") as string,
    });
  });

  test("of the maximum string length is truncated like any other, and so are a million repetitions of it", () => {
    const longest = "x".repeat(2 ** 29 - 24);
    const value = { parts: Array.from({ length: 1_000_000 }, () => longest), longest };
    const json = writeJson(value, 512, 1_048_576);
    expect(json).toMatch(/x…\[truncated: \d{9} more characters\]/);
    expect(JSON.parse(json)).toMatchObject({ "[truncated]": "1 more keys" });
  });
});

describe("other values beyond the limit", () => {
  test("an array says how many elements are missing", () => {
    const list = cut(Array.from({ length: 10_000 }, (_, i) => i)) as unknown[];
    const [mark, marked] = [list.pop(), list.pop()];
    expect(marked).toBe("[truncated]");
    expect(mark).toBe(`[truncated: ${10_000 - list.length - 1} more elements]`);
    expect(list).toEqual(list.map((_, i) => i));
  });

  test.each([
    ["an object", (entries: [string, number][]) => Object.fromEntries(entries)],
    ["a Map", (entries: [string, number][]) => new Map(entries)],
  ])("%s has a marker that says how many keys are missing", (_, make) => {
    const entries = Array.from({ length: 10_000 }, (_entry, i): [string, number] => [`k${i}`, i]);
    const { "[truncated]": mark, ...keptPart } = cut(make(entries)) as Record<string, unknown>;
    const whole = Object.values(keptPart).filter((item) => item !== "[truncated]").length;
    const marked = Object.keys(keptPart).length - whole;
    expect(mark).toBe(`${10_000 - whole - marked} more keys`);
    expect(whole).toBeGreaterThan(300);
  });

  test("all containers around them are closed, with a marker for what is missing", () => {
    const json = writeJson(
      { a: [[{ b: Array.from({ length: 9_000 }, () => true) }], 1, 2], c: 3 },
      64,
      limit,
    );
    expect(json).toMatch(
      /,"\[truncated: \d+ more elements\]"\]\}\],"\[truncated: 2 more elements\]"\],"\[truncated\]":"1 more keys"\}$/,
    );
    expect(JSON.parse(json)).toHaveProperty("a");
  });

  test("binary data is replaced by a marker, because a part of it would be useless", () => {
    expect(cut({ image: Buffer.alloc(5_000), small: Buffer.from("a") })).toEqual({
      image: "[too large: Buffer of 5000 bytes]",
      small: { type: "Buffer", encoding: "base64", data: "YQ==" },
    });
  });

  test("a key beyond the limit is left out with its value", () => {
    expect(cut({ a: 1, ["k".repeat(9_000)]: 2 })).toEqual({ a: 1, "[truncated]": "1 more keys" });
  });

  test("a graph of 2 ** 60 paths ends at the limit", () => {
    let graph: unknown = "leaf";
    for (let i = 0; i < 60; i++) {
      graph = [graph, graph];
    }
    expect(writeJson({ graph }, 512, limit)).toMatch(/"leaf".*more elements\]"/);
  });

  test("a Proxy whose keys can't be read any more is still closed", () => {
    let keyReads = 0;
    const target = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`k${i}`, i]));
    const proxy = new Proxy(target, {
      ownKeys: (own) => {
        keyReads += 1;
        if (keyReads > 1) {
          throw new Error("not again");
        }
        return Reflect.ownKeys(own);
      },
    });
    expect(cut({ proxy })).toHaveProperty("proxy.k0", 0);
  });
});

describe("truncation is counted by field", () => {
  test("once for each field, and the rest of the record is whole", () => {
    const { batcher, ledger } = createTestBatcher({ fieldBytes: limit });
    const id = "00000000-0000-4000-8000-00000000000a";
    const run = {
      name: "n",
      inputs: { a: "x".repeat(9_000), b: "y".repeat(9_000) },
      outputs: { z: Array.from({ length: 9_000 }, () => 1) },
      tags: ["kept"],
      custom: { note: "kept" },
    };
    batcher.record(encodeWire, { operation: "post", id, run, projectName: "p" });
    expect(ledger).toMatchObject({ accepted: 1, truncated: 2 });
    expect(ledger.totalLost).toBe(0);
    const [sent] = batcher.takeAll().waiting.flatMap(({ tape }) => runsOf(tape));
    expect(sent).toMatchObject({ name: "n", tags: ["kept"], custom: { note: "kept" } });
    expect(JSON.stringify(sent?.["inputs"])).toContain("…[truncated: ");
  });

  test("a field that fits is not counted", () => {
    const { ledger, record } = createTestBatcher({ fieldBytes: limit });
    record(4_000);
    expect(ledger.truncated).toBe(0);
  });
});
