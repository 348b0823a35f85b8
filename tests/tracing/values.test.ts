import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { depthLimit } from "../../src/tracing/tape/value-writer.ts";
import { writeJson } from "../support/written-json.ts";

const recorded = (value: unknown): unknown => JSON.parse(writeJson(value));

describe("values that JSON has", () => {
  test("any JSON value arrives as JSON.stringify writes it, byte for byte", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("any text arrives as JSON.stringify writes it: controls, quotes, lone surrogates", () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 });
    fc.assert(
      fc.property(units, (codes) => {
        const text = String.fromCharCode(...codes);
        expect(writeJson(text)).toBe(JSON.stringify(text));
      }),
    );
  });

  test("long texts in any script arrive as JSON.stringify writes them", () => {
    const scripts = [
      "plain words ",
      "naïve façade ",
      "水車と水路 ",
      "мельница ",
      "🌊🎡 ",
      '\u2028"\\\n',
    ];
    const text = fc
      .array(fc.constantFrom(...scripts), { minLength: 20, maxLength: 200 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 99 }), (long, at) => {
        // Truncation may separate a surrogate from its partner.
        const cut = long.slice(at);
        expect(writeJson({ cut }, 512)).toBe(JSON.stringify({ cut }));
      }),
    );
  });

  test("a record that outgrows its tape repeatedly arrives completely", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 400 })), (value) => {
        expect(writeJson({ value }, 24)).toBe(JSON.stringify({ value }));
      }),
    );
  });

  test("numbers keep every digit; minus zero is zero, as in JSON", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(writeJson([value])).toBe(JSON.stringify([value]));
      }),
    );
  });

  test("keys that JavaScript treats in a special way are keys like others", () => {
    const value = JSON.parse('{"__proto__":1,"constructor":2,"toJSON":3,"":4,"a.b":5}') as unknown;
    expect(writeJson(value)).toBe('{"__proto__":1,"constructor":2,"toJSON":3,"":4,"a.b":5}');
  });

  test("undefined is omitted from objects and null in arrays; null stays", () => {
    expect(writeJson({ a: undefined, b: null, c: [undefined, null] })).toBe(
      '{"b":null,"c":[null,null]}',
    );
  });
});

describe("values that JSON lacks", () => {
  class Point {
    readonly x = 1;
    get y(): number {
      return 2;
    }
  }
  const cases: readonly (readonly [string, unknown, unknown])[] = [
    ["a BigInt is its digits", 2n ** 70n, "1180591620717411303424"],
    ["NaN is named", Number.NaN, "NaN"],
    ["infinities are named", [Infinity, -Infinity], ["Infinity", "-Infinity"]],
    ["a Date is ISO 8601", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an invalid Date says so", new Date(Number.NaN), "[invalid date]"],
    ["a Map with text keys is an object", new Map([["a", 1n]]), { a: "1" }],
    ["a Map with other keys is pairs", new Map([[1, "a"]]), [[1, "a"]]],
    ["a Set is an array", new Set([1, "b"]), [1, "b"]],
    ["a RegExp is its source", /a+/gi, "/a+/gi"],
    ["a URL is its address", new URL("http://h/p?q=1"), "http://h/p?q=1"],
    ["search parameters are their text", new URLSearchParams({ a: "b c" }), "a=b+c"],
    ["Headers are an object", new Headers({ A: "b" }), { a: "b" }],
    ["a Buffer is base64", Buffer.from("hi"), { type: "Buffer", encoding: "base64", data: "aGk=" }],
    [
      "a typed array is its bytes in base64",
      new Uint16Array([1]),
      { type: "Uint16Array", encoding: "base64", data: "AQA=" },
    ],
    [
      "an ArrayBuffer is base64",
      new Uint8Array([255]).buffer,
      { type: "ArrayBuffer", encoding: "base64", data: "/w==" },
    ],
    ["a function is named", { f: function ask() {} }, { f: "[function ask]" }],
    ["a symbol is named", { s: Symbol("x") }, { s: "[Symbol(x)]" }],
    ["a symbol key is left out", { [Symbol("k")]: 1, a: 2 }, { a: 2 }],
    ["a Promise is named", Promise.resolve(1), "[Promise]"],
    ["a WeakMap is named", new WeakMap(), "[WeakMap]"],
    ["a ReadableStream is named", new ReadableStream(), "[ReadableStream]"],
    ["a boxed value is the value", [Object(1), Object("a")], [1, "a"]],
    ["an instance is its own fields", new Point(), { x: 1 }],
    [
      "an object without a prototype is plain",
      Object.assign(Object.create(null), { a: 1 }),
      { a: 1 },
    ],
  ];

  test.each(cases)("%s", (_, value, expected) => {
    expect(recorded(value)).toEqual(expected);
  });

  test("an Error is its name, message, stack, cause chain and own fields", () => {
    const error = Object.assign(new TypeError("outer", { cause: new Error("inner") }), { code: 7 });
    expect(recorded(error)).toMatchObject({
      name: "TypeError",
      message: "outer",
      stack: expect.stringContaining("outer") as unknown,
      cause: { message: "inner" },
      code: 7,
    });
  });

  test("an AggregateError holds its errors", () => {
    const { errors } = recorded(new AggregateError([new Error("a")], "all")) as {
      errors: unknown[];
    };
    expect(errors).toMatchObject([{ message: "a" }]);
  });
});

describe("toJSON", () => {
  test("is called once, also on instances", () => {
    let calls = 0;
    const money = {
      toJSON(): unknown {
        calls += 1;
        return { amount: "5" };
      },
    };
    expect(recorded({ money })).toEqual({ money: { amount: "5" } });
    expect(calls).toBe(1);
  });

  test("that returns the object itself records its fields", () => {
    const self: Record<string, unknown> = { a: 1 };
    Object.defineProperty(self, "toJSON", { value: () => self });
    expect(recorded(self)).toEqual({ a: 1 });
  });

  test("that throws affects only its own value", () => {
    const bad = {
      toJSON(): never {
        throw new RangeError("no");
      },
    };
    expect(recorded({ bad, good: 1 })).toEqual({ bad: "[unserializable: no]", good: 1 });
  });

  test("that returns undefined leaves null, a promise its name", () => {
    expect(recorded([{ toJSON: () => undefined }])).toEqual([null]);
    expect(recorded([{ toJSON: () => Promise.resolve(1) }])).toEqual(["[Promise]"]);
  });
});

describe("hostile values", () => {
  test("a cycle is marked where it closes; the same object twice is no cycle", () => {
    const shared = { s: 1 };
    const cyclic: Record<string, unknown> = { shared, again: shared };
    cyclic["self"] = { inner: cyclic };
    expect(recorded(cyclic)).toEqual({
      shared: { s: 1 },
      again: { s: 1 },
      self: { inner: "[circular]" },
    });
  });

  test("a getter that throws affects only its field", () => {
    const value = {
      before: 1,
      get bad(): never {
        throw new Error("boom");
      },
      after: 2,
    };
    expect(recorded(value)).toEqual({ before: 1, bad: "[unserializable: boom]", after: 2 });
  });

  test("an array element that throws affects only itself", () => {
    const items = [1, 2, 3];
    Object.defineProperty(items, 1, {
      get() {
        throw new Error("boom");
      },
    });
    expect(recorded(items)).toEqual([1, "[unserializable: boom]", 3]);
  });

  test("a revoked Proxy, or one whose traps throw, affects only itself", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const trap = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error("no keys");
        },
      },
    );
    const { a, b, c } = recorded({ a: proxy, b: trap, c: 1 }) as Record<string, unknown>;
    expect(a).toMatch(/^\[unserializable: /);
    expect(b).toBe("[unserializable: no keys]");
    expect(c).toBe(1);
  });

  test("a value that throws something unreadable is marked too", () => {
    const bad = {
      toJSON(): never {
        throw Object.create(null);
      },
    };
    expect(recorded([bad])).toEqual(["[unserializable: unreadable reason]"]);
  });

  test.each([1_000, 5_000, 200_000])("nesting of %d levels is cut with a marker", (levels) => {
    let value: unknown = "core";
    for (let i = 0; i < levels; i++) {
      value = [value];
    }
    const json = writeJson({ deep: value, beside: 1 });
    expect(json).toContain(`[too deep: ${depthLimit} levels]`);
    expect(json.endsWith(',"beside":1}')).toBe(true);
  });

  test("a sparse array of four thousand million elements is marked, at once", () => {
    const sparse: unknown[] = [];
    sparse.length = 2 ** 32 - 1;
    expect(recorded({ sparse })).toEqual({ sparse: "[too long: 4294967295 elements]" });
  });

  test("a million keys arrive", () => {
    const value: Record<string, number> = {};
    for (let i = 0; i < 1_000_000; i += 1) {
      value[`k${i}`] = i;
    }
    expect(writeJson(value)).toBe(JSON.stringify(value));
  });

  test("a detached buffer is marked", () => {
    const bytes = new Uint8Array([1, 2]);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(recorded(bytes)).toMatch(/^\[unserializable: .*detached/);
  });
});
