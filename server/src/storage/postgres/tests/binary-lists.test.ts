import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { encodeLists } from "../binary-lists.ts";

/** Encodes the only parameter of a statement. */
const encode = (type: string, list: readonly unknown[]): unknown =>
  encodeLists(`SELECT $1::${type}[]`, [list])[0];

interface DecodedList {
  readonly oid: number;
  readonly hasNull: number;
  readonly elements: readonly (Buffer | null)[];
}

/** Reads PostgreSQL's binary format of a list of one dimension. */
function decode(value: unknown): DecodedList {
  if (!Buffer.isBuffer(value)) {
    throw new Error("the list was not encoded");
  }
  const [dimensions, hasNull, oid] = [0, 4, 8].map((start) => value.readInt32BE(start));
  const elements: (Buffer | null)[] = [];
  let position = dimensions === 0 ? 12 : 20;
  while (position < value.length) {
    const length = value.readInt32BE(position);
    position += 4;
    elements.push(length === -1 ? null : value.subarray(position, position + length));
    position += Math.max(0, length);
  }
  expect([dimensions, elements.length]).toEqual(
    dimensions === 0 ? [0, 0] : [1, value.readInt32BE(12)],
  );
  return { oid: oid ?? 0, hasNull: hasNull ?? 0, elements };
}

describe("lists in PostgreSQL's binary format", () => {
  test("texts", () => {
    const texts = ["", 'a "quoted" \\ one', "é€😀", "x".repeat(300_000)];
    const { oid, hasNull, elements } = decode(encode("text", [...texts, null, undefined]));
    expect([oid, hasNull]).toEqual([25, 1]);
    expect(elements.map((element) => element?.toString("utf8") ?? null)).toEqual([
      ...texts,
      null,
      null,
    ]);
  });

  test("64-bit integers", () => {
    const integers = [0, -1, 1_795_651_200_000_000, -(2 ** 50), Number.MAX_SAFE_INTEGER];
    const { oid, hasNull, elements } = decode(encode("bigint", integers));
    expect([oid, hasNull]).toEqual([20, 0]);
    expect(elements.map((element) => Number(element?.readBigInt64BE()))).toEqual(integers);
  });

  test("smaller integers and floating-point numbers", () => {
    const ints = decode(encode("int", [-(2 ** 31) + 1, 2 ** 31 - 1]));
    expect(ints.oid).toBe(23);
    expect(ints.elements.map((element) => element?.readInt32BE())).toEqual([
      -(2 ** 31) + 1,
      2 ** 31 - 1,
    ]);
    const smallints = decode(encode("smallint", [-5, 32_767]));
    expect(smallints.oid).toBe(21);
    expect(smallints.elements.map((element) => element?.readInt16BE())).toEqual([-5, 32_767]);
    const doubles = decode(encode("double precision", [0.1, -1e300, Number.NaN]));
    expect(doubles.oid).toBe(701);
    expect(doubles.elements.map((element) => element?.readDoubleBE())).toEqual([
      0.1,
      -1e300,
      Number.NaN,
    ]);
  });

  test("an empty list", () => {
    expect(decode(encode("text", []))).toEqual({ oid: 25, hasNull: 0, elements: [] });
  });

  test("each list gets the type that the statement names", () => {
    const values = ["t", ["a"], [1], [2]];
    const encoded = encodeLists(
      "SELECT $1, $2::text[], unnest($3::bigint[], $4::smallint[])",
      values,
    );
    expect(encoded[0]).toBe("t");
    expect(encoded.slice(1).map((list) => decode(list).oid)).toEqual([25, 20, 21]);
  });

  test.each([
    ["bigint", ["12"]],
    ["bigint", [1.5]],
    ["bigint", [2 ** 60]],
    ["smallint", [40_000]],
    ["int", [2 ** 31]],
    ["text", [1]],
    ["text", [["nested"]]],
    ["jsonb", ["{}"]],
  ])("leaves to the driver what does not fit %s: %j", (type, list) => {
    expect(encode(type, list)).toBe(list);
  });
});
