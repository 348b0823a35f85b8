import { randomFillSync } from "node:crypto";
import * as fc from "fast-check";
import { validate, version } from "uuid";
import { expect, test } from "vitest";
import { createUuid7, createUuid7Generator } from "../../src/model/uuid7.ts";

const random = (bytes: Uint8Array): void => {
  randomFillSync(bytes);
};

test("makes version 7 UUIDs", () => {
  for (let count = 0; count < 2_000; count += 1) {
    const id = createUuid7();
    expect(validate(id)).toBe(true);
    expect(version(id)).toBe(7);
  }
});

test("an id begins with its creation time in milliseconds", () => {
  const { create } = createUuid7Generator({ now: () => 1_763_720_000_123, random });
  expect(Number.parseInt(create().replace("-", "").slice(0, 12), 16)).toBe(1_763_720_000_123);
});

test("a million ids are all different and in order", () => {
  let before = "";
  let inOrder = true;
  for (let count = 0; count < 1_000_000; count += 1) {
    const id = createUuid7();
    inOrder &&= id > before;
    before = id;
  }
  expect(inOrder).toBe(true);
});

test("ids stay in order whatever the clock does", () => {
  const steps = fc.array(fc.integer({ min: -100_000, max: 100_000 }), {
    minLength: 2,
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (changes) => {
      let ms = 1_700_000_000_000;
      const { create } = createUuid7Generator({ now: () => ms, random });
      const ids = changes.map((change) => {
        ms += change;
        return create();
      });
      expect(ids).toEqual([...new Set(ids)].toSorted());
      expect(ids.every((id) => validate(id))).toBe(true);
    }),
  );
});

test("a clock without a time does not stop the ids, nor their order", () => {
  const { create } = createUuid7Generator({ now: () => Number.NaN, random });
  const ids = Array.from({ length: 100 }, () => create());
  expect(ids.every((id) => validate(id))).toBe(true);
  expect(ids).toEqual(ids.toSorted());
});

test("an exhausted counter uses the next millisecond", () => {
  const { create } = createUuid7Generator({
    now: () => 1_700_000_000_000,
    random: (bytes) => bytes.fill(255),
  });
  let before = create();
  const firstMs = before.slice(0, 13);
  let inOrder = true;
  // The largest seed with the largest steps: 2 ** 31 / 256 of them.
  for (let count = 0; count <= 8_388_608; count += 1) {
    const id = create();
    inOrder &&= id > before;
    before = id;
  }
  expect(inOrder).toBe(true);
  expect(before.slice(0, 13) > firstMs).toBe(true);
});

test("42 bits of each id are fresh, also within one millisecond", () => {
  const { create } = createUuid7Generator({ now: () => 1_700_000_000_000, random });
  const tails = Array.from(
    { length: 20_000 },
    () => Number.parseInt(create().slice(-11), 16) % 2 ** 42,
  );
  for (let bit = 0; bit < 42; bit += 1) {
    const ones = tails.filter((tail) => Math.floor(tail / 2 ** bit) % 2 === 1).length;
    expect(ones).toBeGreaterThan(9_500);
    expect(ones).toBeLessThan(10_500);
  }
});

test("given times with fractions create ids in order, each with its milliseconds", () => {
  const { create } = createUuid7Generator({ now: () => 0, random });
  const times = Array.from({ length: 500 }, (_, n) => 1_763_720_000_123 + n / 100);
  const ids = times.map((time) => create(time));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map((id) => Number.parseInt(id.replace("-", "").slice(0, 12), 16))).toEqual(
    times.map(Math.floor),
  );
  // Within a millisecond, the counter grows by small steps from one random value.
  expect(new Set(ids.slice(0, 100).map((id) => id.slice(14, 17))).size).toBeLessThanOrEqual(2);
});

test("the last id is written from its bytes, any other one is left to the caller", () => {
  const { create, write } = createUuid7Generator({ now: () => Date.now(), random });
  const bytes = Buffer.alloc(64, "-");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const before = create();
  expect(write(view, 3, before)).toBe(true);
  expect(bytes.toString("latin1")).toBe(`---${before}${"-".repeat(25)}`);
  const last = create();
  expect(write(view, 3, before)).toBe(false);
  expect(bytes.toString("latin1", 3, 39)).toBe(before);
  expect(write(view, 28, last)).toBe(true);
  expect(bytes.toString("latin1", 28)).toBe(last);
});
