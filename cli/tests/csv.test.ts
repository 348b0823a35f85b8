import * as fc from "fast-check";
import Papa from "papaparse";
import { describe, expect, test } from "vitest";
import { parseCsvLines } from "../src/rows/csv-lines.ts";
import { inferType, parseCell } from "../src/rows/csv-types.ts";
import { decompressZstdWithPackage } from "../src/rows/zstd.ts";
import { zstdOf } from "./support/zstd-frame.ts";

async function* parts(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (let n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const cellsOf = async (text: string, sizes: readonly number[]): Promise<unknown[]> => {
  const rows: unknown[] = [];
  for await (const lines of parseCsvLines(parts(Buffer.from(text), sizes), ",")) {
    rows.push(
      ...lines.map(({ cells, errorMessage }) =>
        errorMessage === undefined ? cells : errorMessage,
      ),
    );
  }
  return rows;
};

test("cells with any text are read back unchanged, however the bytes are split", async () => {
  const cell = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", '"', '""', "\n", "\r\n", ",", "é🦆", " "),
  );
  const row = fc.array(cell, { minLength: 2, maxLength: 3 });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 6 }), sizes, async (rows, by) => {
      // The first row determines the line end, so it contains only plain text.
      const all = [["a", "b"], ...rows];
      const text = Papa.unparse(all, { quotes: true });
      expect(await cellsOf(text, by)).toEqual(all);
    }),
    { numRuns: 300 },
  );
});

describe("the inferred type of a column", () => {
  test.each([
    ["number", ["1", "", "-2.5", "1e3"]],
    ["text", ["1", "two"]],
    ["text", ["007"]],
    ["text", ["9007199254740993"]],
    ["text", ["", ""]],
    ["boolean", ["true", "false"]],
    ["json", ['{"a":1}', "[1]"]],
    ["text", ["[draft]"]],
  ])("is %s of %j", (type, texts) => {
    expect(inferType(texts)).toBe(type);
  });

  test("is applied to each of its cells", () => {
    expect(parseCell("number", "1.50")).toBe(1.5);
    expect(parseCell("number", "")).toBeUndefined();
    expect(parseCell("text", "")).toBe("");
    expect(parseCell("json", '"x"')).toBe("x");
    expect(() => parseCell("number", "0x10")).toThrow('"0x10" is not a number');
    expect(() => parseCell("boolean", "yes")).toThrow('"yes" is not a boolean');
    for (const text of ["9007199254740993", "1e400"]) {
      expect(() => parseCell("number", text)).toThrow(
        `${text} would be rounded as a number; as a text it keeps its digits`,
      );
    }
  });
});

test("a truncated zstd file is an error, a complete one is not", async () => {
  const unpack = async (bytes: Buffer): Promise<string> => {
    const found: Uint8Array[] = [];
    for await (const part of decompressZstdWithPackage(parts(bytes, [700]))) {
      found.push(part);
    }
    return Buffer.concat(found).toString();
  };
  const text = "millrace ".repeat(1_000);
  expect(await unpack(zstdOf(text))).toBe(text);
  await expect(unpack(zstdOf(text).subarray(0, -10))).rejects.toThrow("unexpected EOF");
});
