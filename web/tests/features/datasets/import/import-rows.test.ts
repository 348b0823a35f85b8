import { describe, expect, test } from "vitest";
import { previewFile, RowReader } from "../../../../src/features/datasets/import/import-file.ts";
import {
  guessTarget,
  toCsvRow,
  toJsonRow,
} from "../../../../src/features/datasets/import/import-rows.ts";

test("a column is guessed by its name: prefixes first, then what names commonly mean", () => {
  const columns = [
    "inputs.q",
    "outputs.a",
    "metadata.k",
    "split",
    "answer",
    "expected",
    "id",
    "text",
  ];
  expect(columns.map(guessTarget)).toEqual([
    "inputs",
    "outputs",
    "metadata",
    "split",
    "outputs",
    "outputs",
    "none",
    "inputs",
  ]);
});

test("cells go to their parts without the prefix; splits are parted at commas; none is left out", () => {
  const columns = ["inputs.q", "answer", "metadata.k", "split", "id"];
  const targets = ["inputs", "outputs", "metadata", "split", "none"] as const;
  const shape = { kind: "csv", columns, targets } as const;
  expect(toCsvRow(["Q", "A", "", "train, hard", "7"], shape)).toEqual({
    inputs: { q: "Q" },
    outputs: { answer: "A" },
    metadata: { k: "" },
    split: ["train", "hard"],
  });
  expect(() => toCsvRow(["Q"], shape)).toThrow("the row has 1 cell, but the header has 5");
});

test("a line is an example where it has inputs, else it is the inputs", () => {
  expect(toJsonRow('{"inputs":{"q":1},"outputs":{"a":2},"id":"x","extra":1}')).toEqual({
    inputs: { q: 1 },
    outputs: { a: 2 },
  });
  expect(toJsonRow('{"q":1,"outputs":2}')).toEqual({ inputs: { q: 1, outputs: 2 } });
  expect(() => toJsonRow("[1]")).toThrow("not a JSON object");
});

describe("a file", () => {
  test("of lines is read whatever its pieces are; empty lines count but are no rows", () => {
    const reader = new RowReader({ kind: "jsonl" });
    const rows = [...reader.read('{"a":1}\n\n{"b"'), ...reader.read(":2}\nno"), ...reader.end()];
    expect(rows).toMatchObject([
      { kind: "row", line: 1, row: { inputs: { a: 1 } } },
      { kind: "row", line: 3, row: { inputs: { b: 2 } } },
      { kind: "fault", line: 4 },
    ]);
  });

  test("is previewed with its shape: by name, or by its first character", async () => {
    const csv = await previewFile(new File(["\uFEFFquestion,answer\nQ,A\n"], "a.csv"));
    expect(csv.shape).toEqual({
      kind: "csv",
      columns: ["question", "answer"],
      targets: ["inputs", "outputs"],
    });
    expect(csv.rows).toMatchObject([{ line: 2, row: { inputs: { question: "Q" } } }]);
    const lines = await previewFile(new File(['{"q":1}'], "a.txt"));
    expect(lines.shape).toEqual({ kind: "jsonl" });
  });

  test("that is empty, is no text, or names a column twice is refused with the reason", async () => {
    await expect(previewFile(new File([" \n"], "a.csv"))).rejects.toThrow("empty");
    const bytes = new Uint8Array([0x50, 0x4b, 0x03, 0xff]);
    await expect(previewFile(new File([bytes], "a.csv"))).rejects.toThrow("not UTF-8");
    await expect(previewFile(new File(["a,a\n1,2"], "a.csv"))).rejects.toThrow('named "a"');
  });
});
