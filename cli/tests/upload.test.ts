import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test, vi } from "vitest";
import { ended, start } from "./support/command.ts";
import { useRowFixture } from "./support/rows.ts";
import { zstdOf } from "./support/zstd-frame.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const fixture = useRowFixture();

const csv = "question,answer,score,topic\nWhat?,This,1.5,a\nWho?,They,2,b\n";
const jsonl = '{"inputs":{"n":1},"outputs":{"m":2},"split":"test"}\n\n{"inputs":{"n":2}}\n';

describe("formats", () => {
  test("all columns of a CSV file become inputs, with inferred types", async () => {
    writeFileSync(fixture.path("a.csv"), csv);
    const { code, output, errors } = await fixture.upload(fixture.path("a.csv"));
    expect({ code, errors }).toEqual({ code: 0, errors: "" });
    expect(output).toMatch(/a\.csv: 2 rows, 2 created, 0 skipped, 0 rejected; .* rows\/s\n$/);
    expect((await fixture.examples()).map(({ inputs }) => inputs)).toEqual([
      { question: "What?", answer: "This", score: 1.5, topic: "a" },
      { question: "Who?", answer: "They", score: 2, topic: "b" },
    ]);
  });

  test("columns are mapped by options, and by a file", async () => {
    writeFileSync(fixture.path("a.csv"), csv);
    const options = ["--inputs", "question", "--outputs", "answer", "--split", "topic"];
    const mapped = await fixture.upload(
      fixture.path("a.csv"),
      ...options,
      "--metadata",
      "score",
      "--id",
      "question",
      "--types",
      "score:text",
    );
    expect(mapped.code).toBe(0);
    writeFileSync(
      fixture.path("map.json"),
      JSON.stringify({
        inputs: { q: "question" },
        outputs: ["answer"],
        id: "question",
        types: { score: "number" },
      }),
    );
    const byFile = await fixture.run(
      "upload",
      fixture.path("a.csv"),
      "--dataset",
      `${fixture.dataset} 2`,
      "--create",
      "--map",
      fixture.path("map.json"),
      "--metadata",
      "score",
    );
    expect(byFile.code).toBe(0);
    expect(await fixture.examples()).toMatchObject([
      {
        inputs: { question: "What?" },
        outputs: { answer: "This" },
        metadata: { score: "1.5" },
        splits: ["a"],
      },
      {
        inputs: { question: "Who?" },
        outputs: { answer: "They" },
        metadata: { score: "2" },
        splits: ["b"],
      },
    ]);
    const second = await fixture.client.examples
      .list({ datasetName: `${fixture.dataset} 2` })
      .toArray();
    expect(second.map(({ inputs, metadata }) => ({ ...inputs, ...metadata }))).toEqual(
      expect.arrayContaining([
        { q: "What?", score: 1.5 },
        { q: "Who?", score: 2 },
      ]),
    );
  });

  test.each([
    ["plain", "jsonl", (text: string) => Buffer.from(text)],
    ["gzip", "jsonl.gz", (text: string) => gzipSync(text)],
    ["zstd", "ndjson.zst", zstdOf],
  ])("JSONL is read %s", async (_what, end, pack) => {
    writeFileSync(fixture.path(`a.${end}`), pack(jsonl));
    expect(await fixture.upload(fixture.path(`a.${end}`))).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toMatchObject([
      { inputs: { n: 1 }, outputs: { m: 2 }, splits: ["test"] },
      { inputs: { n: 2 } },
    ]);
  });

  test.each([
    ["plain", "parquet", (bytes: Uint8Array) => bytes],
    ["gzip", "parquet.gz", (bytes: Uint8Array) => gzipSync(bytes)],
  ])("Parquet is read %s, group by group", async (_what, end, pack) => {
    const numbers = Array.from({ length: 2_500 }, (_, n) => n);
    const columnData = [
      { name: "n", data: BigInt64Array.from(numbers, BigInt) },
      { name: "at", data: numbers.map((n) => new Date(n * 1_000)), type: "TIMESTAMP" as const },
      { name: "tags", data: numbers.map((n) => [`t${n}`]), type: "JSON" as const },
    ];
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 600 }));
    writeFileSync(fixture.path(`a.${end}`), pack(bytes));
    const { code, errors } = await fixture.upload(
      fixture.path(`a.${end}`),
      "--metadata",
      "at,tags",
    );
    // On a busy machine the upload takes long enough to print progress lines.
    const faults = errors.replaceAll(/^.* rows\/s.*\n/gm, "");
    expect({ code, faults }).toEqual({ code: 0, faults: "" });
    const all = await fixture.examples();
    expect(all).toHaveLength(2_500);
    expect(all.find(({ inputs }) => inputs["n"] === 1_234)).toMatchObject({
      inputs: { n: 1_234 },
      metadata: { at: "1970-01-01T00:20:34.000Z", tags: ["t1234"] },
    });
  });

  test("bytes in a binary column of a Parquet file are text if they are UTF-8, otherwise base64", async () => {
    const columnData = [
      {
        name: "bytes",
        data: [new Uint8Array([0xff, 0xd8, 0]), Buffer.from("é")],
        type: "BYTE_ARRAY" as const,
      },
    ];
    writeFileSync(fixture.path("a.parquet"), new Uint8Array(parquetWriteBuffer({ columnData })));
    expect(await fixture.upload(fixture.path("a.parquet"))).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toMatchObject([
      { inputs: { bytes: "/9gA" } },
      { inputs: { bytes: "é" } },
    ]);
  });

  test("standard input is a source if its format is given", async () => {
    const args = ["upload", "-", "--dataset", fixture.dataset, "--create"];
    const without = start(args, { MILLRACE_ENDPOINT: fixture.endpoint });
    without.stdin.end(jsonl);
    expect(await ended(without)).toMatchObject({
      code: 2,
      errors: expect.stringContaining("the format of standard input is unknown") as unknown,
    });
    const child = start([...args, "--format", "jsonl"], { MILLRACE_ENDPOINT: fixture.endpoint });
    child.stdin.end(jsonl);
    expect(await ended(child)).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toHaveLength(2);
  });

  test("a pattern matches several files, and the JSON result covers all of them", async () => {
    for (const n of [1, 2, 3]) {
      writeFileSync(fixture.path(`part-${n}.jsonl`), `{"n":${n}}\n`);
    }
    const { code, output } = await fixture.upload(fixture.path("part-[12].jsonl"), "--json");
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      read: 2,
      created: 2,
      rejected: 0,
      files: [{ file: fixture.path("part-1.jsonl") }, { file: fixture.path("part-2.jsonl") }],
    });
    expect(await fixture.examples()).toMatchObject([{ inputs: { n: 1 } }, { inputs: { n: 2 } }]);
  });

  test("a number of JSONL that JavaScript can't represent is rejected, or reported if it is rounded", async () => {
    const file = fixture.path("a.jsonl");
    const rows = [
      '{"n":9007199254740992,"text":"\\"9007199254740993 1e400"}',
      '{"n":[-9007199254740993]}',
      '{"n":12345678901234567890}',
      '{"n":1e400}',
      '{"n":0.12345678901234567890}',
    ];
    writeFileSync(file, rows.map((row) => `${row}\n`).join(""));
    const { code, errors } = await fixture.upload(file);
    expect({ code, errors }).toEqual({
      code: 3,
      errors: `warning: ${file}, row 2, and possibly others: the number -9007199254740993 is uploaded as -9007199254740992, because JavaScript can't represent integers beyond 2^53 exactly; write such numbers as strings\n`,
    });
    expect(JSON.parse(readFileSync(`${file}.rejected.jsonl`, "utf8"))).toMatchObject({
      row: 4,
      reason: "the number 1e400 is too large",
    });
  });

  test("a real zstd file is read", async () => {
    const packed = readFileSync(new URL("fixtures/rows.jsonl.zst", import.meta.url));
    writeFileSync(fixture.path("a.jsonl.zst"), packed);
    expect(await fixture.upload(fixture.path("a.jsonl.zst"))).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toHaveLength(500);
  });
});

describe("uploaded again", () => {
  test("the same file adds nothing, and a dry run sends nothing", async () => {
    writeFileSync(fixture.path("a.jsonl"), jsonl);
    await fixture.upload(fixture.path("a.jsonl"));
    const again = await fixture.upload(fixture.path("a.jsonl"), "--json");
    expect(JSON.parse(again.output)).toMatchObject({ created: 0, skipped: 2 });
    const dryResult = await fixture.upload(fixture.path("a.jsonl"), "--json", "--dry-run");
    expect(JSON.parse(dryResult.output)).toMatchObject({ dryRun: true, read: 2 });
    writeFileSync(fixture.path("b.jsonl"), '{"n":5}\nno\n{"n":6}\n');
    const dry = await fixture.run(
      "upload",
      fixture.path("b.jsonl"),
      "--dataset",
      fixture.dataset,
      "--dry-run",
    );
    expect(dry).toMatchObject({
      code: 3,
      output: expect.stringMatching(
        /b\.jsonl, row 2: "the line is not JSON.*"\n.*3 rows, 2 would be created/s,
      ) as unknown,
    });
    expect(await fixture.examples()).toHaveLength(2);
  });
});

test("a dry run into a dataset that does not exist yet checks the rows, warns, and creates nothing", async () => {
  writeFileSync(fixture.path("a.jsonl"), '{"n":1}\nno\n{"n":2}\n');
  const dry = await fixture.upload(fixture.path("a.jsonl"), "--dry-run");
  expect(dry).toMatchObject({
    code: 3,
    output: expect.stringMatching(/row 2: .*\n.*3 rows, 2 would be created/s) as unknown,
    errors: `warning: Dataset "${fixture.dataset}" does not exist yet: the upload would create it\n`,
  });
  expect(await fixture.client.datasets.list({ datasetName: fixture.dataset }).toArray()).toEqual(
    [],
  );
});

describe("a source with a column inputs and one that is not read", () => {
  const reason =
    'column "output" is not one of inputs, outputs, metadata, split, id, created_at (did you mean outputs?). To read other columns, or to ignore some, pass a mapping file with --map';

  test("a CSV file is refused before anything is sent, unless a mapping leaves the column out", async () => {
    const file = fixture.path("a.csv");
    writeFileSync(file, 'inputs,output\n"{""n"":1}","{""m"":2}"\n');
    for (const flags of [[], ["--dry-run"]]) {
      expect(await fixture.upload(file, ...flags)).toMatchObject({
        code: 2,
        errors: expect.stringContaining(`error: ${reason}\n`) as unknown,
      });
    }
    writeFileSync(fixture.path("map.json"), '{"inputs":"inputs"}');
    const mapped = await fixture.upload(file, "--map", fixture.path("map.json"));
    expect(mapped).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toMatchObject([{ inputs: { n: 1 } }]);
  });

  test("such rows of a JSONL file are rejected", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, '{"inputs":{"n":1},"output":{"m":2}}\n{"inputs":{"n":2},"split":[]}\n');
    const { code } = await fixture.upload(file);
    expect(code).toBe(3);
    expect(JSON.parse(readFileSync(`${file}.rejected.jsonl`, "utf8"))).toMatchObject({
      row: 1,
      reason,
    });
    expect(await fixture.examples()).toMatchObject([{ inputs: { n: 2 } }]);
  });
});

describe("feedback and runs", () => {
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";

  test("runs keep their ids and times; feedback is read from a table", async () => {
    const run = {
      id,
      trace_id: id,
      dotted_order: `20240102T030405000006Z${id}`,
      name: "moved",
      run_type: "llm",
      start_time: "2024-01-02T03:04:05.000006Z",
      inputs: { q: 1 },
    };
    writeFileSync(fixture.path("runs.jsonl"), `${JSON.stringify(run)}\n`);
    const runs = await fixture.run(
      "upload",
      fixture.path("runs.jsonl"),
      "--resource",
      "runs",
      "--project",
      "moved",
    );
    expect(runs).toMatchObject({ code: 0, errors: "" });
    expect(runs.output).toContain("1 created, 0 skipped");
    const again = await fixture.run("upload", fixture.path("runs.jsonl"), "--resource", "runs");
    expect(again.output).toContain("0 created, 1 skipped, 0 rejected");
    expect(await fixture.client.runs.read(id)).toMatchObject({ name: "moved", inputs: { q: 1 } });
    writeFileSync(
      fixture.path("f.csv"),
      `run_id,key,score,comment\n${id},good,0.5,\n${id},bad,1,so\n`,
    );
    const feedback = await fixture.run("upload", fixture.path("f.csv"), "--resource", "feedback");
    expect(feedback).toMatchObject({ code: 0, errors: "" });
    const given = await fixture.client.feedback.list({ runIds: [id] }).toArray();
    expect(given.map(({ key, score, comment }) => ({ key, score, comment }))).toEqual(
      expect.arrayContaining([
        { key: "good", score: 0.5 },
        { key: "bad", score: 1, comment: "so" },
      ]),
    );
  });
});

test(
  "invalid arguments are reported, with the exit code for wrong usage",
  { timeout: 60_000 },
  async () => {
    writeFileSync(fixture.path("a.csv"), csv);
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [["no-such.csv"], "there is no file no-such.csv"],
      [[tmpdir()], `${tmpdir()} is a folder: pass its files, such as '${tmpdir()}/*.jsonl'`],
      [
        [fixture.path("a.csv"), "--chunk-count", "0"],
        '--chunk-count must be a whole number from 1 to 100,000, not "0"',
      ],
      [
        [fixture.path("a.csv"), "--in-flight", "9999"],
        '--in-flight must be a whole number from 1 to 256, not "9999"',
      ],
      [
        [fixture.path("a.csv"), "--inputs", "nope"],
        "there is no column nope; the columns are question, answer",
      ],
      [
        [fixture.path("a.csv"), "--types", "score:float"],
        "the type of a column must be one of text, number",
      ],
      [
        [fixture.path("a.csv"), "--resource", "cats"],
        "--resource must be one of examples, feedback, runs",
      ],
      [[fixture.path("a.csv"), "--map", fixture.path("none.json")], "can't be read"],
    ];
    for (const [args, message] of wrong) {
      expect(await fixture.upload(...args)).toMatchObject({
        code: 2,
        errors: expect.stringContaining(message) as unknown,
      });
    }
    expect(await fixture.run("upload", fixture.path("a.csv"), "--dataset", "")).toMatchObject({
      code: 2,
      errors: "error: --dataset is empty: pass the name or the id of a dataset\n",
    });
  },
);
