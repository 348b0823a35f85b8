import { expect, test } from "vitest";
import { EventStreamReader } from "../../src/api/event-stream.ts";

test("events are the same wherever the stream is split into chunks", () => {
  const stream = 'event: second\ndata: {"at":1}\n\n: still here\n\ndata: a\r\ndata: b\r\n\r\n';
  const whole = new EventStreamReader().read(stream);
  expect(whole).toEqual([
    { name: "second", data: '{"at":1}' },
    { name: "message", data: "a\nb" },
  ]);
  for (let cut = 1; cut < stream.length; cut += 1) {
    const reader = new EventStreamReader();
    expect([...reader.read(stream.slice(0, cut)), ...reader.read(stream.slice(cut))]).toEqual(
      whole,
    );
  }
});

test("an event that is too long is rejected", () => {
  const reader = new EventStreamReader();
  expect(() => reader.read("data: ".padEnd(4_000_001, "x"))).toThrow(RangeError);
});
