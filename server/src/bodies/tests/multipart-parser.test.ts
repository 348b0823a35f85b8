import * as fc from "fast-check";
import { expect, test } from "vitest";
import { MultipartParser } from "../multipart-parser.ts";
import type { Part } from "../multipart-parser.ts";
import { boundary, multipart } from "../../../tests/support/wire-runs.ts";
import type { PartInit } from "../../../tests/support/wire-runs.ts";

interface Seen {
  readonly name: string;
  readonly text: string;
  readonly fault: string | undefined;
}

function parse(body: Buffer, chunkSizes: readonly number[] = []): Seen[] {
  const seen: Seen[] = [];
  const parser = new MultipartParser(boundary, ({ name, bytes, fault }) =>
    seen.push({ name, text: bytes.toString(), fault }),
  );
  let at = 0;
  for (const size of chunkSizes) {
    parser.push(body.subarray(at, at + size));
    at += size;
  }
  parser.push(body.subarray(at));
  parser.end();
  return seen;
}

const text = fc.string({ unit: "binary", maxLength: 200 });

test("the parts are the same, however the body is split into chunks", () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ body: text }), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 60 }),
      (bodies, sizes) => {
        const parts = bodies.map(({ body }, index) => ({ name: `part-${index}`, body }));
        const expected = parts.map(({ name, body }) => ({
          name,
          text: Buffer.from(body).toString(),
          fault: undefined,
        }));
        expect(parse(multipart(parts), sizes)).toEqual(expected);
      },
    ),
    { numRuns: 500 },
  );
});

test("a body split at every byte is parsed", () => {
  const body = multipart([
    { name: "a", body: "one" },
    { name: "b", body: "" },
    { name: "c", body: "\r\n--x" },
  ]);
  const parts = parse(
    body,
    Array.from({ length: body.length }, () => 1),
  );
  expect(parts.map(({ text: content }) => content)).toEqual(["one", "", "\r\n--x"]);
});

test("a part may contain the boundary if it declares its length", () => {
  const body = `x\r\n--${boundary}\r\ny`;
  expect(parse(multipart([{ name: "a", body }]))).toEqual([
    { name: "a", text: body, fault: undefined },
  ]);
});

const wrongLengths: readonly (readonly [string, PartInit, string])[] = [
  ["too short", { name: "bad", body: "0123456789", length: 4 }, "announces 4 bytes and has 10"],
  ["too long", { name: "bad", body: "0123456789", length: 12 }, "announces 12 bytes and has 10"],
  [
    "far too long",
    { name: "bad", body: "0123456789", length: 999_999_999 },
    "announces 999999999 bytes and has 10",
  ],
  [
    "missing",
    { name: "bad", body: "0123456789", length: null },
    "has no length, neither in Content-Type nor as Content-Length",
  ],
];

test.each(wrongLengths)(
  "a part whose length is %s is reported, its neighbors are parsed",
  (_kind, bad, fault) => {
    const body = multipart([{ name: "before", body: "1" }, bad, { name: "after", body: "22" }]);
    for (const sizes of [[], [body.length - 3], Array.from({ length: body.length }, () => 1)]) {
      expect(parse(body, sizes)).toEqual([
        { name: "before", text: "1", fault: undefined },
        { name: "bad", text: "0123456789", fault },
        { name: "after", text: "22", fault: undefined },
      ]);
    }
  },
);

test("a length may be in a header of its own", () => {
  const part = { name: "a", body: "one", length: null, headers: ["Content-Length: 3"] };
  expect(parse(multipart([part]))).toEqual([{ name: "a", text: "one", fault: undefined }]);
});

test("a compressed part is refused", () => {
  const [part] = parse(
    multipart([{ name: "a", body: "one", headers: ["Content-Encoding: gzip"] }]),
  );
  expect(part?.fault).toBe("is compressed; only a whole body may be compressed");
});

test("a name that smuggles in a header makes one malformed part, not another name", () => {
  const name = 'post.x"\r\nContent-Disposition: form-data; name="post.y';
  const [part, ...others] = parse(multipart([{ name, body: "1" }]));
  expect(part).toMatchObject({ fault: "has two Content-Disposition headers" });
  expect(others).toEqual([]);
});

test("escaped line breaks in a name stay in the name", () => {
  const [part] = parse(multipart([{ name: "attachment.x.a%0D%0Ab%22", body: "1" }]));
  expect(part).toMatchObject({ name: "attachment.x.a%0D%0Ab%22", fault: undefined });
});

test.each([
  [
    "without a name",
    `--${boundary}\r\nContent-Type: a/b; length=1\r\n\r\n1\r\n--${boundary}--`,
    "has no name",
  ],
  ["without headers", `--${boundary}\r\n\r\n1\r\n--${boundary}--`, "has no name"],
])("a part %s is reported", (_kind, body, fault) => {
  expect(parse(Buffer.from(body))).toEqual([{ name: "", text: "1", fault }]);
});

test.each([
  ["no closing boundary", `--${boundary}\r\n\r\n1`, "ends before its closing boundary"],
  ["nothing at all", "", "ends before its closing boundary"],
  ["text after a boundary", `--${boundary}x\r\n\r\n1`, "neither a line end nor --"],
  [
    "a head without end",
    `--${boundary}\r\n${"a".repeat(20_000)}`,
    "the headers of part 1 are longer than 16384 bytes",
  ],
  ["another beginning", "x".repeat(20_000), "does not begin with its boundary"],
])("a body with %s is rejected", (_kind, body, message) => {
  expect(() => parse(Buffer.from(body))).toThrow(message);
});

test("more parts than the limit are rejected", () => {
  const body = `--${boundary}\r\n\r\n\r\n`.repeat(100_001);
  expect(() => parse(Buffer.from(body))).toThrow("more than 100000 parts");
});

test("a chunk is released once it is joined with the previous remainder, and its parts stay intact", () => {
  const body = multipart([
    { name: "a", body: "a".repeat(100_000) },
    { name: "b", body: "b".repeat(100_000) },
  ]);
  const parts: Part[] = [];
  const parser = new MultipartParser(boundary, (part) => parts.push(part));
  const chunks = [0, 65_536, 131_072, 196_608].map((from) => {
    const chunk = Buffer.from(new ArrayBuffer(Math.min(65_536, body.length - from)));
    body.copy(chunk, 0, from);
    return chunk;
  });
  chunks.forEach((chunk) => parser.push(chunk));
  parser.end();
  expect(chunks.map(({ length }) => length)).toEqual([0, 0, 0, 0]);
  expect(parts.map(({ bytes }) => bytes.toString())).toEqual([
    "a".repeat(100_000),
    "b".repeat(100_000),
  ]);
});
