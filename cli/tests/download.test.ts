import { readFileSync, writeFileSync } from "node:fs";
import * as zlib from "node:zlib";
import type { Example } from "millrace";
import Papa from "papaparse";
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

/** What a spreadsheet would run, what an export would make of it, and what only looks like either. */
const formulae = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@sum", "\ttab", "\rline", "'=1", "''@x"];
const harmless = ["-5", "'quoted'", "it's", "a=1", "plain"];

test("cells that begin like formulae come back as they were, from either export", async () => {
  const texts = [...formulae, ...harmless];
  const { id: datasetId } = await desk.client.datasets.create({ name: desk.dataset });
  await desk.client.examples.createMany({
    datasetId,
    examples: texts.map((text) => ({
      inputs: { q: text, "=head": "x" },
      outputs: { a: text },
      split: text.trim(),
    })),
  });
  const before = await desk.examples();
  const contentOf = ({ inputs, outputs }: Partial<Example>) => JSON.stringify([inputs, outputs]);
  const contents = before.map(contentOf).toSorted();

  const own = desk.path("own.csv");
  expect(await desk.run("download", "--dataset", desk.dataset, "--output", own)).toMatchObject({
    code: 0,
  });
  expect(readFileSync(own, "utf8")).toContain(",'=1+1,");
  const answer = await fetch(`${desk.endpoint}/datasets/${datasetId}/csv`);
  const served = desk.path("served.csv");
  writeFileSync(served, await answer.text());
  const { data: lines } = Papa.parse<string[]>(readFileSync(served, "utf8"), {
    skipEmptyLines: true,
  });
  expect(lines).toHaveLength(texts.length + 1);
  const active = lines.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell) && cell !== "-5");
  expect(active).toEqual([]);
  await desk.client.datasets.delete({ datasetId });

  expect(await desk.upload(own)).toMatchObject({ code: 0, errors: "" });
  expect((await desk.examples()).map(content)).toEqual(before.map(content));
  const { datasetId: again = "" } = (await desk.examples())[0] ?? {};
  await desk.client.datasets.delete({ datasetId: again });
  const columns = ["--inputs", "q,=head", "--outputs", "a", "--types", "q:text,a:text"];
  expect(await desk.upload(served, ...columns)).toMatchObject({ code: 0, errors: "" });
  expect((await desk.examples()).map(contentOf).toSorted()).toEqual(contents);

  const made = await desk.client.datasets.createFromCsv({
    file: served,
    name: `${desk.dataset} by the server`,
    inputKeys: ["q", "=head"],
    outputKeys: ["a"],
  });
  const imported = await desk.client.examples.list({ datasetId: made.id }).toArray();
  expect(imported.map(contentOf).toSorted()).toEqual(contents);
});
