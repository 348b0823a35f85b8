import { readFileSync, writeFileSync } from "node:fs";
import * as zlib from "node:zlib";
import type { Example } from "millrace";
import { expect, test, vi } from "vitest";
import { rowDesk } from "./support/rows.ts";

// Each run of the command starts a process.
vi.setConfig({ testTimeout: 60_000 });

const desk = rowDesk();

const rows = [
  { inputs: { q: 'a "quoted", text\nin two lines' }, outputs: { n: 0.1, list: [1, null] } },
  { inputs: { q: "é 🦆", deep: { empty: {} } }, split: ["train", "[odd"], metadata: { m: "[1]" } },
  { inputs: {}, outputs: {}, split: "[test" },
];

const content = ({ modifiedAt: _, datasetId: __, ...rest }: Example): Partial<Example> => rest;

const fill = async (): Promise<readonly Example[]> => {
  writeFileSync(desk.path("in.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  expect(await desk.upload(desk.path("in.jsonl"))).toMatchObject({ code: 0 });
  return desk.examples();
};

test.each([
  ["csv", []],
  ["csv", ["--gzip"]],
  ["jsonl", []],
  ["jsonl", ["--gzip"]],
  ["parquet", []],
])("what is downloaded as %s (%j) comes back as it was", async (format, packing) => {
  const before = await fill();
  const file = desk.path(`out.${format}`);
  const args = ["--dataset", desk.dataset, "--format", format, "--output", file, ...packing];
  expect(await desk.run("download", ...args)).toMatchObject({
    code: 0,
    output: "",
    errors: `3 examples in ${file}\n`,
  });
  const id = before[0]?.datasetId ?? "";
  await desk.client.datasets.delete({ datasetId: id });
  const back = await desk.upload(file);
  expect(back).toMatchObject({ code: 0, errors: "" });
  expect((await desk.examples()).map(content)).toEqual(before.map(content));
});

test(
  "a version, a split and standard output are what is asked for",
  { timeout: 60_000 },
  async () => {
    const before = await fill();
    const place = { datasetName: desk.dataset };
    const { asOf } = await desk.client.datasets.readVersion({
      datasetName: desk.dataset,
      tag: "latest",
    });
    await desk.client.examples.create({ ...place, inputs: { q: "later" }, split: "train" });
    const of = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const args = ["download", "--dataset", desk.dataset, "--format", "jsonl", ...flags];
      const { code, output } = await desk.run(...args);
      expect(code).toBe(0);
      return output.split("\n").filter(Boolean);
    };
    expect(await of()).toHaveLength(4);
    expect(await of("--as-of", asOf)).toHaveLength(before.length);
    expect(await of("--split", "train")).toHaveLength(2);
    expect(await of("--split", "train", "--as-of", asOf)).toEqual([
      expect.stringContaining('"metadata":{"m":"[1]"},"split":["train","[odd"]') as unknown,
    ]);
  },
);

test("what can't be written is said, and leaves what was there", async () => {
  await fill();
  const args = ["download", "--dataset", desk.dataset, "--format"];
  const file = desk.path("there.jsonl");
  writeFileSync(file, "as it was\n");
  expect(await desk.run(...args, "xml")).toMatchObject({ code: 2 });
  expect(
    await desk.run("download", "--dataset", "none", "--format", "csv", "--output", file),
  ).toMatchObject({
    code: 1,
    errors: expect.stringContaining('there is no dataset "none"') as unknown,
  });
  expect(readFileSync(file, "utf8")).toBe("as it was\n");
  const zstd = await desk.run(...args, "jsonl", "--zstd", "--output", file);
  const told = "createZstdCompress" in zlib ? /^3 examples/ : /needs Node 22.15 or newer/;
  expect(zstd.errors).toMatch(told);
});
