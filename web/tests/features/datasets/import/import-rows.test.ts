import { describe, expect, test } from "vitest";
import { previewFile, RowReader } from "../../../../src/features/datasets/import/import-file.ts";
import {
  guessTarget,
  toCsvRow,
  toJsonRow,
} from "../../../../src/features/datasets/import/import-rows.ts";

test("the target of a column is guessed from its name: first from a prefix, then from common names", () => {
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

test("cells are assigned without the column's prefix, splits are separated by commas, and columns with the target none are omitted", () => {
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

test("a line with `inputs` is an example; any other line is the inputs", () => {
  expect(toJsonRow('{"inputs":{"q":1},"outputs":{"a":2},"id":"x","extra":1}')).toEqual({
    inputs: { q: 1 },
    outputs: { a: 2 },
  });
  expect(toJsonRow('{"q":1,"outputs":2}')).toEqual({ inputs: { q: 1, outputs: 2 } });
  expect(() => toJsonRow("[1]")).toThrow("not a JSON object");
});

describe("a file", () => {
  test("of JSON lines is parsed from any chunks; empty lines are counted but are not rows", () => {
    const reader = new RowReader({ kind: "jsonl" });
    const rows = [...reader.read('{"a":1}\n\n{"b"'), ...reader.read(":2}\nno"), ...reader.finish()];
    expect(rows).toMatchObject([
      { kind: "row", line: 1, row: { inputs: { a: 1 } } },
      { kind: "row", line: 3, row: { inputs: { b: 2 } } },
      { kind: "fault", line: 4 },
    ]);
  });

  test("is previewed in the format given by its name or its first character", async () => {
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

  test("is previewed up to the last row that is complete in its beginning", async () => {
    const quoted = `"${"long ".repeat(20_000)}",A\n`;
    const csv = await previewFile(new File([`question,answer\n${quoted.repeat(5)}`], "a.csv"));
    expect(csv.shape).toMatchObject({ columns: ["question", "answer"] });
    expect(csv.rows.map(({ kind, line }) => [kind, line])).toEqual([
      ["row", 2],
      ["row", 3],
    ]);
    const header = new File([`"${"long ".repeat(60_000)}",answer\nQ,A\n`], "a.csv");
    await expect(previewFile(header)).rejects.toThrow("line 1: the header is longer than 256 KiB");
  });

  test("that is empty, not text, or has a repeated column is rejected with the reason", async () => {
    await expect(previewFile(new File([" \n"], "a.csv"))).rejects.toThrow("empty");
    const bytes = new Uint8Array([0x50, 0x4b, 0x03, 0xff]);
    await expect(previewFile(new File([bytes], "a.csv"))).rejects.toThrow("not UTF-8");
    await expect(previewFile(new File(["a,a\n1,2"], "a.csv"))).rejects.toThrow('named "a"');
  });
});
