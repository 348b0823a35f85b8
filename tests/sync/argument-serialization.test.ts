import * as fc from "fast-check";
import { expect, test } from "vitest";
import { serializeArguments, restoreTypes } from "../../src/api/sync/argument-serialization.ts";

function roundTrip(...args: readonly unknown[]): readonly unknown[] {
  const { args: received, changedValues } = structuredClone(serializeArguments(args));
  restoreTypes(changedValues);
  return received;
}

test("any JSON value is transferred unchanged", () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: "medium" }), (value) => {
      expect(roundTrip({ metadata: value })).toEqual([{ metadata: value }]);
    }),
  );
});

test("values that are later sent as JSON produce the same JSON in the other thread", () => {
  class Money {
    readonly #cents = 250;
    toJSON(): unknown {
      return { cents: this.#cents, at: new Date(0) };
    }
  }
  class Point {
    x = 1;
    get y(): number {
      return 2;
    }
  }
  const metadata = {
    url: new URL("http://host/a"),
    money: [new Money()],
    point: new Point(),
    bytes: Buffer.from("ab"),
    array: new Uint8Array([1]),
    date: new Date(5),
    work: () => 1,
    list: [undefined, Symbol("s"), () => 2],
    nothing: undefined,
    nan: Number.NaN,
    error: new TypeError("no"),
    bare: Object.assign(Object.create(null) as object, { a: 1 }),
    proxy: new Proxy({ a: 1 }, {}),
    ["__proto__"]: { a: 1 },
  };
  const [received] = roundTrip({ metadata });
  expect(JSON.stringify(received)).toBe(JSON.stringify({ metadata }));
});

test("bytes, times, addresses, files and values that contain themselves stay what they are", () => {
  const loop: Record<string, unknown> = { name: "loop" };
  loop["self"] = loop;
  const bytes = Buffer.from("bytes");
  const [received] = roundTrip({
    bytes,
    when: new Date(7),
    blob: new Blob(["b"]),
    file: new File(["f"], "a.csv", { type: "text/csv", lastModified: 3 }),
    loop,
    places: [bytes, new URL("http://h/")],
  }) as [Record<string, unknown>];
  expect(Buffer.isBuffer(received["bytes"])).toBe(true);
  expect(String(received["bytes"])).toBe("bytes");
  // A view into the buffer pool would have copied the whole pool.
  expect((received["bytes"] as Buffer).buffer.byteLength).toBe(5);
  expect(received["places"]).toEqual([Buffer.from("bytes"), new URL("http://h/")]);
  expect(received["when"]).toEqual(new Date(7));
  expect(received["file"]).toBeInstanceOf(File);
  expect(received["file"]).toMatchObject({
    name: "a.csv",
    type: "text/csv",
    size: 1,
    lastModified: 3,
  });
  expect(received["blob"]).toBeInstanceOf(Blob);
  const copy = received["loop"] as Record<string, unknown>;
  expect(copy["self"]).toBe(copy);
});

const unreadable = {
  get name(): string {
    throw new Error("no");
  },
};

test.each<readonly [string, () => unknown, string]>([
  ["a function", () => () => 1, "a function"],
  ["a function among the options", () => ({ onProgress: () => 1 }), "a function"],
  ["a stream", () => ({ source: new ReadableStream() }), "a stream or an iterator"],
  ["a nested stream", () => ({ a: { b: [new ReadableStream()] } }), "a stream or an iterator"],
  ["an iterator", () => new Map().values(), "a stream or an iterator"],
  ["what can't be read", () => unreadable, "this argument"],
])("%s is refused because it can't be transferred", (_title, arg, what) => {
  expect(() => serializeArguments([arg()])).toThrow(`A blocking call can't take ${what}`);
});
