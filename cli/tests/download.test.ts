import { readFileSync, writeFileSync } from "node:fs";
import * as zlib from "node:zlib";
import { Client } from "millrace";
import type { Example, WirePost } from "millrace";
import Papa from "papaparse";
import { describe, expect, test, vi } from "vitest";
import { ended, start } from "./support/command.ts";
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
  expect(await fixture.run(...args, "csv", "--output", "/no/such/folder/rows.csv")).toMatchObject({
    code: 1,
    errors:
      "error: /no/such/folder/rows.csv can't be written: ENOENT: no such file or directory, open '/no/such/folder/rows.csv'\n",
  });
  const zstd = await fixture.run(...args, "jsonl", "--zstd", "--output", file);
  const expected = "createZstdCompress" in zlib ? /^3 examples/ : /needs Node 22.15 or newer/;
  expect(zstd.errors).toMatch(expected);
});

test("a download ends without an error when what reads its output has ended", async () => {
  await fill();
  const args = ["download", "--dataset", fixture.dataset, "--format", "jsonl"];
  const child = start(args, { MILLRACE_ENDPOINT: fixture.endpoint });
  child.stdout.destroy();
  expect(await ended(child)).toMatchObject({ code: 0, errors: "3 examples\n" });
});

test("a filter selects the examples to download, in both forms", async () => {
  await fill();
  const args = ["download", "--dataset", fixture.dataset, "--format", "jsonl", "--filter"];
  for (const filter of [
    "metadata.m = '[1]' or split = '[\"test\"]'",
    'in(split, ["train", "[\\"test\\"]"])',
  ]) {
    const { code, output } = await fixture.run(...args, filter);
    expect(code).toBe(0);
    expect(output.trimEnd().split("\n")).toHaveLength(2);
  }
  expect(await fixture.run(...args, "spilt = a")).toMatchObject({
    code: 2,
    output: "",
    errors: expect.stringContaining("error: --filter: unknown field `spilt`") as unknown,
  });
});

describe("runs of a project", () => {
  /** Records traces with one child each: every third fails, and the last one is slow unless it fails. */
  const record = async (project: string, traceCount: number): Promise<void> => {
    const client = new Client({ endpoint: fixture.endpoint, projectName: project });
    const startTime = Date.now() - 3_600_000;
    for (let index = 0; index < traceCount; index += 1) {
      const root = client.startRun({
        name: `trace ${index}`,
        tags: ["a"],
        metadata: { user_id: "u" },
        inputs: { question: "é 🦆\n?" },
        startTime: startTime + index,
      });
      const call = root.startChild({ name: "call", runType: "llm", startTime: startTime + index });
      call.end({ answer: index }, { endTime: startTime + index + 1 });
      if (index % 3 === 0) {
        root.fail(new Error("no"), undefined, { endTime: startTime + index + 2 });
      } else {
        const isSlow = index === traceCount - 1;
        root.end({ answer: index }, { endTime: startTime + index + (isSlow ? 6_000 : 2) });
      }
    }
    await client.close();
  };
  const download = async (...flags: readonly string[]): Promise<readonly WirePost[]> => {
    const { code, output, errors } = await fixture.run("download", ...flags);
    expect({ code, errors }).toEqual({
      code: 0,
      errors: expect.stringMatching(/^[\d,]+ runs\n$/) as unknown,
    });
    const lines = output.split("\n").slice(0, -1);
    expect(errors).toBe(`${lines.length.toLocaleString("en")} runs\n`);
    return lines.map((line) => JSON.parse(line) as WirePost);
  };

  test("are all roots, the newest first, over many pages; with --all, also the runs below them", async () => {
    await record(fixture.dataset, 251);
    const roots = await download("--project", fixture.dataset);
    expect(roots.map(({ name }) => name)).toEqual(
      Array.from({ length: 251 }, (_, index) => `trace ${250 - index}`),
    );
    expect(roots[0]).toMatchObject({
      run_type: "chain",
      status: "success",
      inputs: { question: "é 🦆\n?" },
      outputs: { answer: 250 },
      tags: ["a"],
      extra: { metadata: { user_id: "u" } },
    });
    const all = await download("--project", fixture.dataset, "--all", "--format", "jsonl");
    expect(all).toHaveLength(502);
    const { id } = await fixture.client.projects.read({ projectName: fixture.dataset });
    expect(await download("--project", id)).toEqual(roots);
  });

  test("are selected by a filter in either form, or refused with the server's sentence", async () => {
    await record(fixture.dataset, 11);
    const select = async (filter: string, ...flags: readonly string[]) =>
      (await download("--project", fixture.dataset, "--filter", filter, ...flags)).map(
        ({ name }) => name,
      );
    const slowOrFailed = ["trace 10", "trace 9", "trace 6", "trace 3", "trace 0"];
    expect(await select("latency > 5s")).toEqual(["trace 10"]);
    expect(await select("user = u and (latency > 5s or status = error)")).toEqual(slowOrFailed);
    expect(await select('or(gt(latency, "5s"), eq(status, "error"))')).toEqual(slowOrFailed);
    expect(await select("call", "--all")).toEqual(Array.from({ length: 11 }, () => "call"));
    const file = fixture.path("there.jsonl");
    writeFileSync(file, "as it was\n");
    const args = ["download", "--project", fixture.dataset, "--output", file, "--filter"];
    expect(await fixture.run(...args, "latncy > 5s")).toMatchObject({
      code: 2,
      output: "",
      errors: expect.stringMatching(
        /^error: --filter: unknown field `latncy`, did you mean `latency`\? .*\n$/,
      ) as unknown,
    });
    expect(readFileSync(file, "utf8")).toBe("as it was\n");
  });

  test("can be uploaded again, compressed or not", async () => {
    await record(fixture.dataset, 3);
    const project = ["--project", fixture.dataset];
    const before = await download(...project, "--all");
    const file = fixture.path("runs.jsonl.gz");
    expect(await fixture.run("download", ...project, "--all", "--output", file)).toMatchObject({
      code: 0,
      output: "",
      errors: `6 runs in ${file}\n`,
    });
    const { id } = await fixture.client.projects.read({ projectName: fixture.dataset });
    await fixture.client.projects.delete({ projectId: id });
    expect(await fixture.run("upload", file, "--resource", "runs", ...project)).toMatchObject({
      code: 0,
    });
    expect(await download(...project, "--all")).toEqual(before);
  });

  test.each([
    [[], "pass --dataset <name> to download examples, or --project <name> to download runs"],
    [["--project", "p", "--dataset", "d"], "--dataset and --project can't be combined"],
    [["--project", "p", "--split", "a"], "--as-of and --split apply only to the examples"],
    [["--project", "p", "--as-of", "a"], "--as-of and --split apply only to the examples"],
    [["--project", "p", "--format", "csv"], "runs are written as jsonl, not as csv"],
    [["--project", "p", "--output", "a.parquet"], "runs are written as jsonl, not as parquet"],
    [["--dataset", "d", "--all", "--format", "csv"], "--all applies only to the runs"],
  ])("arguments %j are refused", async (flags, message) => {
    expect(await fixture.run("download", ...flags)).toMatchObject({
      code: 2,
      errors: expect.stringContaining(message) as unknown,
    });
  });

  test("of a project that does not exist are refused with the nearest name", async () => {
    await record(fixture.dataset, 1);
    expect(await fixture.run("download", "--project", `${fixture.dataset}x`)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(
        `there is no project "${fixture.dataset}x"; did you mean "${fixture.dataset}"`,
      ) as unknown,
    });
  });
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
