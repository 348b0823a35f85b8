import { spawn } from "node:child_process";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test, vi } from "vitest";
import { ended, script, start } from "../support/command.ts";
import { startKillingProxy } from "../support/killing-proxy.ts";
import { useRowFixture } from "../support/rows.ts";

const fixture = useRowFixture();

const containing = (text: string): unknown => expect.stringContaining(text);
const lines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join("");
const rejectedOf = (file: string): readonly unknown[] =>
  readFileSync(`${file}.rejected.jsonl`, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
const inputs = async (): Promise<readonly unknown[]> =>
  (await fixture.examples()).map((example) => example.inputs);

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

describe("rows that can't be uploaded are skipped, reported and saved", () => {
  test("a line that is not JSON, one that is not an object, one that is not UTF-8", async () => {
    const file = fixture.path("a.jsonl");
    const odd = Buffer.concat([Buffer.from('{"n":"'), Buffer.from([0xff]), Buffer.from('"}\n')]);
    writeFileSync(
      file,
      Buffer.concat([Buffer.from(lines([{ n: 1 }, '{"n":', { n: 3 }, "[4]"])), odd]),
    );
    const { code, output } = await fixture.upload(file);
    expect(code).toBe(3);
    expect(output).toContain("5 rows, 2 created, 0 skipped, 3 rejected");
    expect(output).toContain(`rejected rows are in ${file}.rejected.jsonl`);
    expect(rejectedOf(file)).toEqual([
      { row: 2, reason: containing("the line is not JSON: "), content: '{"n":' },
      { row: 4, reason: "the line is not a JSON object", content: "[4]" },
      { row: 5, reason: "the line is not UTF-8", content: '{"n":"ÿ"}' },
    ]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("CSV rows with too few cells, or a cell that does not match its column's type", async () => {
    const file = fixture.path("a.csv");
    writeFileSync(file, `a,b\n1,x\n2\n3,y\n${"4,z\n".repeat(2_000)}five,z\n`);
    const { code, output } = await fixture.upload(file, "--id", "a");
    expect(code).toBe(3);
    expect(output).toContain("2,004 rows");
    expect(rejectedOf(file)).toMatchObject([
      {
        row: 2,
        reason: "the row has 1 cells, but the first row names 2 columns",
        content: '["2"]',
      },
    ]);
    const second = await fixture.upload(file, "--types", "b:number");
    expect(second.code).toBe(3);
    expect(rejectedOf(file)[0]).toMatchObject({ row: 1, reason: 'column b: "x" is not a number' });
    expect(rejectedOf(file).at(-1)).toMatchObject({
      row: 2_004,
      reason: containing(
        '"five" is not a number, the type inferred from earlier rows; pass --types a:text',
      ),
    });
  });

  test("two rows with one key: an identical row is skipped, a different one is rejected", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines([1, 1, 2].map((n) => ({ key: "k", n }))));
    const { code, output } = await fixture.upload(file, "--id", "key", "--inputs", "n");
    expect({ code, output }).toMatchObject({
      code: 3,
      output: containing("1 created, 1 skipped, 1 rej"),
    });
    expect(rejectedOf(file)).toMatchObject([{ row: 3, reason: containing("already") }]);
  });

  test("a row of 30 MB, which the server does not accept", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines([{ n: 1 }, { n: 2, text: "x".repeat(30_000_000) }, { n: 3 }]));
    const { code } = await fixture.upload(file);
    expect(code).toBe(3);
    expect(rejectedOf(file)).toMatchObject([{ row: 2, content: { inputs: { n: 2 } } }]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("a row without a mapped column", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines([{ q: 1, a: 1 }, { q: 2 }]));
    expect(await fixture.upload(file, "--inputs", "q", "--outputs", "a")).toMatchObject({
      code: 3,
    });
    expect(rejectedOf(file)).toEqual([
      { row: 2, reason: "the row has no field a", content: { q: 2 } },
    ]);
  });

  test("a row that breaks the schema of its dataset", async () => {
    const file = fixture.path("a.jsonl");
    await fixture.client.datasets.create({
      name: fixture.dataset,
      inputsSchema: { type: "object", required: ["n"], properties: { n: { type: "number" } } },
    });
    writeFileSync(file, lines([{ n: 1 }, { n: "two" }, { n: 3 }]));
    const place = ["upload", file, "--dataset", fixture.dataset];
    const dry = await fixture.run(...place, "--dry-run");
    expect(dry).toMatchObject({ code: 3, output: containing("row 2: ") });
    expect(existsSync(`${file}.rejected.jsonl`)).toBe(false);
    expect(await fixture.run(...place)).toMatchObject({ code: 3 });
    expect(rejectedOf(file)).toMatchObject([
      { row: 2, reason: containing("/n"), content: { inputs: { n: "two" } } },
    ]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });
});

describe("a source that can't be read is a failure that names the source", () => {
  test("a truncated Parquet file, a truncated gzip file, a quote that is not closed", async () => {
    const parquet = fixture.path("a.parquet");
    const columnData = [{ name: "n", data: [1, 2, 3] }];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })).slice(0, -20));
    expect(await fixture.upload(parquet)).toMatchObject({
      code: 1,
      errors: containing(`${parquet} is not a complete Parquet file`),
    });
    const packed = fixture.path("a.jsonl.gz");
    const text = lines(Array.from({ length: 5_000 }, (_, n) => ({ n, rest: Math.sin(n) })));
    writeFileSync(packed, gzipSync(text).subarray(0, -2_000));
    expect(await fixture.upload(packed)).toMatchObject({
      code: 1,
      errors: containing("is not a complete gzip file: unexpected end of file"),
    });
    expect((await inputs()).length).toBeGreaterThan(1_000);
    const open = fixture.path("a.csv");
    writeFileSync(open, 'a,b\n1,"two\n3,4\n');
    expect(await fixture.upload(open, "--no-id")).toMatchObject({ code: 3 });
    expect(rejectedOf(open)).toMatchObject([{ row: 1, reason: "Quoted field unterminated" }]);
  });

  test("a dataset that does not exist", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines([{ n: 1 }]));
    expect(await fixture.run("upload", file, "--dataset", "no such")).toMatchObject({
      code: 1,
      errors: 'error: there is no dataset "no such"; pass --create to create it\n',
    });
  });
});

test("a CSV with a byte order mark, quotes and line breaks within cells is read correctly", async () => {
  const file = fixture.path("a.csv");
  writeFileSync(file, '\uFEFF"q","a ""b"""\r\n"one\r\ntwo, ""three""",\r\n\r\nplain,"é"\r\n');
  expect(await fixture.upload(file)).toMatchObject({ code: 0 });
  expect(await inputs()).toEqual([
    { q: 'one\r\ntwo, "three"', 'a "b"': "" },
    { q: "plain", 'a "b"': "é" },
  ]);
});

describe("checkpoints", () => {
  const many = Array.from({ length: 4_000 }, (_, n) => ({ n }));

  test("Ctrl-C ends an upload after writing the checkpoint, from which the next one resumes", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines(many));
    const proxy = await startKillingProxy(fixture.endpoint);
    const args = ["upload", file, "--dataset", fixture.dataset, "--create", "--chunk-count", "100"];
    const child = start(args, { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({
      request: 12,
      moment: "before its response",
      kill: () => void child.kill("SIGINT"),
    });
    expect(await ended(child)).toMatchObject({
      code: 1,
      errors: containing(
        "rejected): the upload was aborted by its signal; run the same command again to continue from there",
      ),
    });
    const checkpoint = `${file}.millrace-checkpoint.json`;
    expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toMatchObject({
      rows: expect.any(Number) as unknown,
    });
    const { code, output } = await fixture.upload(file, "--json");
    expect(code).toBe(0);
    const { files } = JSON.parse(output) as { readonly files: readonly { firstRow: number }[] };
    expect(files[0]?.firstRow).toBeGreaterThan(100);
    expect(await fixture.examples()).toHaveLength(many.length);

    // A checkpoint with the same name, but of an upload to another dataset.
    writeFileSync(checkpoint, readFileSync(checkpointOfOther(file, fixture.dataset)));
    expect(await fixture.upload(file)).toMatchObject({
      code: 1,
      errors: containing("belongs to an upload of examples of dataset"),
    });
  });

  test("a row that an interrupted upload already reported as rejected is listed once", async () => {
    const file = fixture.path("a.jsonl");
    // Every tenth row is invalid. The last rejections were written to the file after the last checkpoint.
    writeFileSync(file, lines(many.slice(0, 1_000).map((row) => (row.n % 10 === 9 ? "no" : row))));
    const proxy = await startKillingProxy(fixture.endpoint);
    const args = ["upload", file, "--dataset", fixture.dataset, "--create", "--chunk-count", "100"];
    const child = start([...args, "--ordered"], { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({
      request: 4,
      moment: "before its response",
      kill: () => void child.kill("SIGKILL"),
    });
    await ended(child);
    const rejectedCount = rejectedOf(file).length;
    expect(rejectedCount).toBeGreaterThan(0);
    // The process was killed while it wrote a line.
    writeFileSync(`${file}.rejected.jsonl`, '{"row":9', { flag: "a" });
    const { code, output } = await fixture.upload(file, "--json");
    expect({ code, output }).toMatchObject({ code: 3 });
    expect(rejectedOf(file).map((row) => (row as { row: number }).row)).toEqual(
      Array.from({ length: 100 }, (_, n) => n * 10 + 10),
    );
    expect(await fixture.examples()).toHaveLength(900);
  });

  test("a checkpoint of another source is refused, and can be ignored", async () => {
    const file = fixture.path("a.jsonl");
    writeFileSync(file, lines(many));
    const proxy = await startKillingProxy(fixture.endpoint);
    const args = ["upload", file, "--dataset", fixture.dataset, "--create", "--chunk-count", "100"];
    const child = start(args, { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({ request: 9, moment: "before its response", kill: () => void child.kill("SIGINT") });
    expect(await ended(child)).toMatchObject({ code: 1 });
    utimesSync(file, 1, 1);
    expect(await fixture.upload(file)).toMatchObject({
      code: 1,
      errors: containing("belongs to another source"),
    });
    expect(await fixture.upload(file, "--no-checkpoint")).toMatchObject({ code: 0 });
    expect(await fixture.examples()).toHaveLength(many.length);
  });

  test.skipIf(process.platform === "win32")(
    "a full disk is reported, and the rows still arrive",
    async () => {
      const file = fixture.path("a.jsonl");
      writeFileSync(file, lines(many.slice(0, 300)));
      // With this limit no file can grow, so writing fails as on a full disk.
      const command = [process.execPath, script, "upload", file, "--dataset", fixture.dataset];
      const child = spawn("sh", ["-c", 'ulimit -f 0; exec "$@"', "sh", ...command, "--create"], {
        env: { ...process.env, MILLRACE_ENDPOINT: fixture.endpoint },
      });
      expect(await ended(child)).toMatchObject({
        code: 0,
        errors: containing(
          `warning: The checkpoint ${file}.millrace-checkpoint.json can't be written`,
        ),
      });
      expect(await fixture.examples()).toHaveLength(300);
    },
  );
});

/** Writes a checkpoint of an upload of the same file to another dataset. */
function checkpointOfOther(file: string, dataset: string): string {
  const path = `${file}.other.json`;
  const known = { row: 1, digest: "-" };
  const target = `examples of dataset 01890a5d-ac96-774b-bcce-b302099a8057, not ${dataset}`;
  writeFileSync(path, JSON.stringify({ format: 1, target, rows: 1, first: known, last: known }));
  return path;
}
