import { array, assert, integer, property, uint8Array } from "fast-check";
import { expect, test } from "vitest";
import { BodyCollector } from "../../src/tracing/tape/body-collector.ts";

/** What a collector of this limit keeps of a body. */
function expectedOf(body: Buffer, limit: number) {
  const head = Math.ceil(limit / 2);
  const tail = Math.max(1, Math.floor(limit / 2));
  const omitted = Math.max(0, body.length - head - tail);
  const kept =
    omitted === 0 ? body : Buffer.concat([body.subarray(0, head), body.subarray(head + omitted)]);
  return { kept: kept.toString("hex"), omitted };
}

test("a body in any chunks is kept up to the limit, without its middle", () => {
  assert(
    property(
      array(uint8Array({ maxLength: 60 }), { maxLength: 40 }),
      integer({ min: 1, max: 600 }),
      (chunks, limit) => {
        const collector = new BodyCollector(limit);
        for (const chunk of chunks) {
          collector.add(chunk);
        }
        const body = Buffer.concat(chunks);
        const { kept, omitted } = expectedOf(body, limit);
        expect(Buffer.concat(collector.parts).toString("hex")).toBe(kept);
        expect(collector).toMatchObject({
          totalBytes: body.length,
          omittedBytes: omitted,
          keptBytes: body.length - omitted,
        });
        expect(collector.omittedAt).toBe(Math.min(body.length, Math.ceil(limit / 2)));
      },
    ),
  );
});

test("chunks larger than a block are kept, also beside small ones", () => {
  const collector = new BodyCollector(2_000_000);
  const chunks = [3, 5_000, 300_000, 1, 700_000].map((size, index) => Buffer.alloc(size, index));
  for (const chunk of chunks) {
    collector.add(chunk);
  }
  expect(Buffer.concat(collector.parts).equals(Buffer.concat(chunks))).toBe(true);
});

test("chunks are copied during the call", () => {
  const collector = new BodyCollector(4);
  const chunk = Buffer.from("abcdefgh");
  collector.add(chunk);
  chunk.fill("x");
  expect(Buffer.concat(collector.parts).toString()).toBe("abgh");
});

test("memory does not grow with the body", () => {
  const collector = new BodyCollector(65_536);
  const chunk = Buffer.alloc(16_384, "a");
  for (let sent = 0; sent < 100_000_000; sent += chunk.length) {
    collector.add(chunk);
  }
  expect(collector.keptBytes).toBe(65_536);
  const buffers = new Set(collector.parts.map(({ buffer }) => buffer));
  const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
  expect(held).toBe(65_536);
});

test("a collector that was cleared gives its memory to other bodies, and collects again", () => {
  const collector = new BodyCollector(100_000);
  const large = Buffer.alloc(90_000, "a");
  collector.add(large);
  collector.clear();
  expect(collector).toMatchObject({ totalBytes: 0, omittedBytes: 0, omittedAt: 0, parts: [] });
  const other = new BodyCollector(100_000);
  for (let offset = 0; offset < 20_000; offset += 500) {
    other.add(Buffer.alloc(500, "b"));
  }
  collector.add(Buffer.from("again"));
  expect(Buffer.concat(other.parts).toString()).toBe("b".repeat(20_000));
  expect(Buffer.concat(collector.parts).toString()).toBe("again");
  const first = new BodyCollector(100_000);
  first.add(Buffer.from("x"));
  const [used] = first.parts;
  first.clear();
  const second = new BodyCollector(100_000);
  second.add(Buffer.from("y"));
  expect(second.parts[0]?.buffer).toBe(used?.buffer);
});
