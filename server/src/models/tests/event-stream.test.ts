import * as fc from "fast-check";
import { expect, test } from "vitest";
import { EventStreamError, EventStreamParser } from "../event-stream.ts";
import type { StreamEvent } from "../event-stream.ts";

const parse = (text: string, cuts: readonly number[] = []): readonly StreamEvent[] => {
  const bytes = Buffer.from(text);
  const parser = new EventStreamParser(1_000);
  const ends = [
    ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  let start = 0;
  const events = ends.flatMap((end) => {
    const chunk = bytes.subarray(start, end);
    start = end;
    return parser.push(chunk);
  });
  return [...events, ...parser.end()];
};

test("events are the same however the bytes are divided, with every kind of line end", () => {
  const text = ': comment\r\nevent: a\r\ndata: {"é":1}\r\n\r\ndata:x\rdata: y😀\r\rdata: last';
  const expected = [
    { type: "a", data: '{"é":1}' },
    { type: "", data: "x\ny😀" },
    { type: "", data: "last" },
  ];
  expect(parse(text)).toEqual(expected);
  fc.assert(
    fc.property(fc.array(fc.nat(200), { maxLength: 20 }), (cuts) => {
      expect(parse(text, cuts)).toEqual(expected);
    }),
  );
});

test("an event that never ends is refused at the limit, also if it has many lines", () => {
  const parser = new EventStreamParser(1_000);
  expect(() => {
    for (let line = 0; line < 100; line += 1) {
      parser.push(Buffer.from("data: 0123456789\n"));
    }
  }).toThrow(EventStreamError);
  expect(() => new EventStreamParser(10).push(Buffer.alloc(11, "x"))).toThrow(/more than 10/);
});
