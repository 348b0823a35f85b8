import { readFileSync, writeFileSync } from "node:fs";
import * as zlib from "node:zlib";
import type { Example } from "millrace";
import Papa from "papaparse";
import { expect, test, vi } from "vitest";
import { useRowFixture } from "./support/rows.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const fixture = useRowFixture();

const rows = [
  { inputs: { q: 'a "quoted", text\nin two lines' }, outputs: { n: 0.1, list: [1, null] } },
  { inputs: { q: "é 🦆", deep: { empty: {} } }, split: ["train", "[odd"], metadata: { m: "[1]" } },
  { inputs: {}, outputs: {}, split: ['["test"]'] },
];

const content = ({ modifiedAt: _, datasetId: __, ...rest }: Example): Partial<Example> => rest;

const fill = async (): Promise<readonly Example[]> => {
  writeFileSync(fixture.path("in.jsonl"), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  expect(await fixture.upload(fixture.path("in.jsonl"))).toMatchObject({ code: 0 });
  return fixture.examples();
};

test.each([
  ["csv", []],
  ["csv", ["--gzip"]],
  ["jsonl", []],
  ["jsonl", ["--gzip"]],
  ["parquet", []],
])(
  "examples downloaded as %s (%j) and uploaded again are unchanged",
  async (format, compression) => {
    const before = await fill();
    const file = fixture.path(`out.${format}`);
    const args = [
      "--dataset",
      fixture.dataset,
      "--format",
      format,
      "--output",
      file,
      ...compression,
    ];
    expect(await fixture.run("download", ...args)).toMatchObject({
      code: 0,
      output: "",
      errors: `3 examples in ${file}\n`,
    });
    const id = before[0]?.datasetId ?? "";
    await fixture.client.datasets.delete({ datasetId: id });
    const back = await fixture.upload(file);
    expect(back).toMatchObject({ code: 0, errors: "" });
    expect((await fixture.examples()).map(content)).toEqual(before.map(content));
  },
);

test("a version, a split and standard output can be requested", { timeout: 60_000 }, async () => {
  const before = await fill();
  const place = { datasetName: fixture.dataset };
  const { asOf } = await fixture.client.datasets.readVersion({
    datasetName: fixture.dataset,
    tag: "latest",
  });
  await fixture.client.examples.create({ ...place, inputs: { q: "later" }, split: "train" });
  const of = async (...flags: readonly string[]): Promise<readonly string[]> => {
    const args = ["download", "--dataset", fixture.dataset, "--format", "jsonl", ...flags];
    const { code, output } = await fixture.run(...args);
    expect(code).toBe(0);
    return output.split("\n").filter(Boolean);
  };
  expect(await of()).toHaveLength(4);
  expect(await of("--as-of", asOf)).toHaveLength(before.length);
  expect(await of("--split", "train")).toHaveLength(2);
  expect(await of("--split", "train", "--as-of", asOf)).toEqual([
    expect.stringContaining('"metadata":{"m":"[1]"},"split":["train","[odd"]') as unknown,
  ]);
});

test("a failed download is reported, and leaves the existing file unchanged", async () => {
  await fill();
  const args = ["download", "--dataset", fixture.dataset, "--format"];
  const file = fixture.path("there.jsonl");
  writeFileSync(file, "as it was\n");
  expect(await fixture.run(...args, "xml")).toMatchObject({ code: 2 });
  expect(
    await fixture.run("download", "--dataset", "none", "--format", "csv", "--output", file),
  ).toMatchObject({
    code: 1,
    errors: expect.stringContaining('there is no dataset "none"') as unknown,
  });
  expect(readFileSync(file, "utf8")).toBe("as it was\n");
  const zstd = await fixture.run(...args, "jsonl", "--zstd", "--output", file);
  const expected = "createZstdCompress" in zlib ? /^3 examples/ : /needs Node 22.15 or newer/;
  expect(zstd.errors).toMatch(expected);
});

/**
 * Cells that a spreadsheet would run as formulae, cells that an export escapes, and cells that only resemble
 * either.
 */
const formulae = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@sum", "\ttab", "\rline", "'=1", "''@x"];
const harmless = ["-5", "'quoted'", "it's", "a=1", "plain"];

test("cells that begin like formulae are unchanged after either export and an upload", async () => {
  const texts = [...formulae, ...harmless];
  const { id: datasetId } = await fixture.client.datasets.create({ name: fixture.dataset });
  await fixture.client.examples.createMany({
    datasetId,
    examples: texts.map((text) => ({
      inputs: { q: text, "=head": "x" },
      outputs: { a: text },
      split: text.trim(),
    })),
  });
  const before = await fixture.examples();
  const contentOf = ({ inputs, outputs }: Partial<Example>) => JSON.stringify([inputs, outputs]);
  const contents = before.map(contentOf).toSorted();

  const own = fixture.path("own.csv");
  expect(
    await fixture.run("download", "--dataset", fixture.dataset, "--output", own),
  ).toMatchObject({
    code: 0,
  });
  expect(readFileSync(own, "utf8")).toContain(",'=1+1,");
  const answer = await fetch(`${fixture.endpoint}/datasets/${datasetId}/csv`);
  const served = fixture.path("served.csv");
  writeFileSync(served, await answer.text());
  const { data: lines } = Papa.parse<string[]>(readFileSync(served, "utf8"), {
    skipEmptyLines: true,
  });
  expect(lines).toHaveLength(texts.length + 1);
  const active = lines.flat().filter((cell) => /^[=+\-@\t\r]/.test(cell) && cell !== "-5");
  expect(active).toEqual([]);
  await fixture.client.datasets.delete({ datasetId });

  expect(await fixture.upload(own)).toMatchObject({ code: 0, errors: "" });
  expect((await fixture.examples()).map(content)).toEqual(before.map(content));
  const { datasetId: again = "" } = (await fixture.examples())[0] ?? {};
  await fixture.client.datasets.delete({ datasetId: again });
  const columns = ["--inputs", "q,=head", "--outputs", "a", "--types", "q:text,a:text"];
  expect(await fixture.upload(served, ...columns)).toMatchObject({ code: 0, errors: "" });
  expect((await fixture.examples()).map(contentOf).toSorted()).toEqual(contents);

  const made = await fixture.client.datasets.createFromCsv({
    file: served,
    name: `${fixture.dataset} by the server`,
    inputKeys: ["q", "=head"],
    outputKeys: ["a"],
  });
  const imported = await fixture.client.examples.list({ datasetId: made.id }).toArray();
  expect(imported.map(contentOf).toSorted()).toEqual(contents);
});
