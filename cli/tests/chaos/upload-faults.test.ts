import { spawn } from "node:child_process";
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { parquetWriteBuffer } from "hyparquet-writer";
import { describe, expect, test, vi } from "vitest";
import { ended, script, start } from "../support/command.ts";
import { startKillingProxy } from "../support/killing-proxy.ts";
import { rowDesk } from "../support/rows.ts";

const desk = rowDesk();

const said = (text: string): unknown => expect.stringContaining(text);
const lines = (rows: readonly unknown[]): string =>
  rows.map((row) => `${typeof row === "string" ? row : JSON.stringify(row)}\n`).join("");
const rejectedOf = (file: string): readonly unknown[] =>
  readFileSync(`${file}.rejected.jsonl`, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
const inputs = async (): Promise<readonly unknown[]> =>
  (await desk.examples()).map((example) => example.inputs);

// Each run of the command starts a process.
vi.setConfig({ testTimeout: 60_000 });

describe("rows that can't be taken are left out, told and kept", () => {
  test("a line that is no JSON, one that is no object, one that is not UTF-8", async () => {
    const file = desk.path("a.jsonl");
    const odd = Buffer.concat([Buffer.from('{"n":"'), Buffer.from([0xff]), Buffer.from('"}\n')]);
    writeFileSync(
      file,
      Buffer.concat([Buffer.from(lines([{ n: 1 }, '{"n":', { n: 3 }, "[4]"])), odd]),
    );
    const { code, output } = await desk.upload(file);
    expect(code).toBe(3);
    expect(output).toContain("5 rows, 2 created, 0 skipped, 3 rejected");
    expect(output).toContain(`rejected rows are in ${file}.rejected.jsonl`);
    expect(rejectedOf(file)).toEqual([
      { row: 2, reason: said("the line is no JSON: "), content: '{"n":' },
      { row: 4, reason: "the line is no JSON object", content: "[4]" },
      { row: 5, reason: "the line is not UTF-8", content: '{"n":"ÿ"}' },
    ]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("rows of a CSV with too few cells, or a cell that is not of its column's type", async () => {
    const file = desk.path("a.csv");
    writeFileSync(file, `a,b\n1,x\n2\n3,y\n${"4,z\n".repeat(2_000)}five,z\n`);
    const { code, output } = await desk.upload(file, "--id", "a");
    expect(code).toBe(3);
    expect(output).toContain("2,004 rows");
    expect(rejectedOf(file)).toMatchObject([
      { row: 2, reason: "the row has 1 cells, and 2 columns have names", content: '["2"]' },
    ]);
    const second = await desk.upload(file, "--types", "b:number");
    expect(second.code).toBe(3);
    expect(rejectedOf(file)[0]).toMatchObject({ row: 1, reason: 'column b: "x" is no number' });
    expect(rejectedOf(file).at(-1)).toMatchObject({
      row: 2_004,
      reason: said('"five" is no number, as the rows before have it; --types a:text takes it'),
    });
  });

  test("two rows of one key: the same is skipped, another is rejected", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines([1, 1, 2].map((n) => ({ key: "k", n }))));
    const { code, output } = await desk.upload(file, "--id", "key", "--inputs", "n");
    expect({ code, output }).toMatchObject({
      code: 3,
      output: said("1 created, 1 skipped, 1 rej"),
    });
    expect(rejectedOf(file)).toMatchObject([{ row: 3, reason: said("already") }]);
  });

  test("a row of 30 MB, which the server does not take", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines([{ n: 1 }, { n: 2, text: "x".repeat(30_000_000) }, { n: 3 }]));
    const { code } = await desk.upload(file);
    expect(code).toBe(3);
    expect(rejectedOf(file)).toMatchObject([{ row: 2, content: { inputs: { n: 2 } } }]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test("a row that lacks a column that is mapped", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines([{ q: 1, a: 1 }, { q: 2 }]));
    expect(await desk.upload(file, "--inputs", "q", "--outputs", "a")).toMatchObject({ code: 3 });
    expect(rejectedOf(file)).toEqual([{ row: 2, reason: "the row has no a", content: { q: 2 } }]);
  });

  test("a row that breaks the schema of its dataset", async () => {
    const file = desk.path("a.jsonl");
    await desk.client.datasets.create({
      name: desk.dataset,
      inputsSchema: { type: "object", required: ["n"], properties: { n: { type: "number" } } },
    });
    writeFileSync(file, lines([{ n: 1 }, { n: "two" }, { n: 3 }]));
    const place = ["upload", file, "--dataset", desk.dataset];
    const dry = await desk.run(...place, "--dry-run");
    expect(dry).toMatchObject({ code: 3, output: said("row 2: ") });
    expect(existsSync(`${file}.rejected.jsonl`)).toBe(false);
    expect(await desk.run(...place)).toMatchObject({ code: 3 });
    expect(rejectedOf(file)).toMatchObject([
      { row: 2, reason: said("/n"), content: { inputs: { n: "two" } } },
    ]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 3 }]);
  });
});

describe("a source that can't be read is a failure that says where", () => {
  test("a truncated Parquet file, a truncated gzip file, a quote that is not closed", async () => {
    const parquet = desk.path("a.parquet");
    const columnData = [{ name: "n", data: [1, 2, 3] }];
    writeFileSync(parquet, new Uint8Array(parquetWriteBuffer({ columnData })).slice(0, -20));
    expect(await desk.upload(parquet)).toMatchObject({
      code: 1,
      errors: said(`${parquet} is no whole Parquet file`),
    });
    const packed = desk.path("a.jsonl.gz");
    const text = lines(Array.from({ length: 5_000 }, (_, n) => ({ n, rest: Math.sin(n) })));
    writeFileSync(packed, gzipSync(text).subarray(0, -2_000));
    expect(await desk.upload(packed)).toMatchObject({
      code: 1,
      errors: said("is no whole gzip file: unexpected end of file"),
    });
    expect((await inputs()).length).toBeGreaterThan(1_000);
    const open = desk.path("a.csv");
    writeFileSync(open, 'a,b\n1,"two\n3,4\n');
    expect(await desk.upload(open, "--no-id")).toMatchObject({ code: 3 });
    expect(rejectedOf(open)).toMatchObject([{ row: 1, reason: "Quoted field unterminated" }]);
  });

  test("a dataset that there is not", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines([{ n: 1 }]));
    expect(await desk.run("upload", file, "--dataset", "no such")).toMatchObject({
      code: 1,
      errors: 'error: there is no dataset "no such"; pass --create to create it\n',
    });
  });
});

test("a CSV with a byte order mark, quotes and lines within cells is read as it is meant", async () => {
  const file = desk.path("a.csv");
  writeFileSync(file, '\uFEFF"q","a ""b"""\r\n"one\r\ntwo, ""three""",\r\n\r\nplain,"é"\r\n');
  expect(await desk.upload(file)).toMatchObject({ code: 0 });
  expect(await inputs()).toEqual([
    { q: 'one\r\ntwo, "three"', 'a "b"': "" },
    { q: "plain", 'a "b"': "é" },
  ]);
});

describe("checkpoints", () => {
  const many = Array.from({ length: 4_000 }, (_, n) => ({ n }));

  test("Ctrl-C ends it with the checkpoint written, from which the next one goes on", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines(many));
    const proxy = await startKillingProxy(desk.endpoint);
    const args = ["upload", file, "--dataset", desk.dataset, "--create", "--chunk-count", "100"];
    const child = start(args, { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({ request: 12, moment: "before its answer", kill: () => void child.kill("SIGINT") });
    expect(await ended(child)).toMatchObject({
      code: 1,
      errors: said("it was aborted by its signal; the same command goes on from there"),
    });
    const checkpoint = `${file}.millrace-checkpoint.json`;
    expect(JSON.parse(readFileSync(checkpoint, "utf8"))).toMatchObject({
      rows: expect.any(Number) as unknown,
    });
    const { code, output } = await desk.upload(file, "--json");
    expect(code).toBe(0);
    const { files } = JSON.parse(output) as { readonly files: readonly { firstRow: number }[] };
    expect(files[0]?.firstRow).toBeGreaterThan(100);
    expect(await desk.examples()).toHaveLength(many.length);

    // The same name, another content: what the checkpoint says is not of it.
    writeFileSync(checkpoint, readFileSync(checkpointOfOther(file, desk.dataset)));
    expect(await desk.upload(file)).toMatchObject({
      code: 1,
      errors: said("belongs to an upload of examples of dataset"),
    });
  });

  test("a row that was rejected before the end of the one before is named once", async () => {
    const file = desk.path("a.jsonl");
    // Every tenth is none; the last ones were told, and the checkpoint knows nothing of them.
    writeFileSync(file, lines(many.slice(0, 1_000).map((row) => (row.n % 10 === 9 ? "no" : row))));
    const proxy = await startKillingProxy(desk.endpoint);
    const args = ["upload", file, "--dataset", desk.dataset, "--create", "--chunk-count", "100"];
    const child = start([...args, "--ordered"], { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({ request: 4, moment: "before its answer", kill: () => void child.kill("SIGKILL") });
    await ended(child);
    const told = rejectedOf(file).length;
    expect(told).toBeGreaterThan(0);
    // It died in the middle of a line.
    writeFileSync(`${file}.rejected.jsonl`, '{"row":9', { flag: "a" });
    const { code, output } = await desk.upload(file, "--json");
    expect({ code, output }).toMatchObject({ code: 3 });
    expect(rejectedOf(file).map((row) => (row as { row: number }).row)).toEqual(
      Array.from({ length: 100 }, (_, n) => n * 10 + 10),
    );
    expect(await desk.examples()).toHaveLength(900);
  });

  test("one that belongs to another source is refused, and can be left aside", async () => {
    const file = desk.path("a.jsonl");
    writeFileSync(file, lines(many));
    const proxy = await startKillingProxy(desk.endpoint);
    const args = ["upload", file, "--dataset", desk.dataset, "--create", "--chunk-count", "100"];
    const child = start(args, { MILLRACE_ENDPOINT: proxy.url });
    proxy.arm({ request: 9, moment: "before its answer", kill: () => void child.kill("SIGINT") });
    expect(await ended(child)).toMatchObject({ code: 1 });
    utimesSync(file, 1, 1);
    expect(await desk.upload(file)).toMatchObject({
      code: 1,
      errors: said("belongs to another source"),
    });
    expect(await desk.upload(file, "--no-checkpoint")).toMatchObject({ code: 0 });
    expect(await desk.examples()).toHaveLength(many.length);
  });

  test.skipIf(process.platform === "win32")(
    "a disk that takes no more is told, and the rows arrive",
    async () => {
      const file = desk.path("a.jsonl");
      writeFileSync(file, lines(many.slice(0, 300)));
      // No file may grow: writing fails as on a full disk.
      const command = [process.execPath, script, "upload", file, "--dataset", desk.dataset];
      const child = spawn("sh", ["-c", 'ulimit -f 0; exec "$@"', "sh", ...command, "--create"], {
        env: { ...process.env, MILLRACE_ENDPOINT: desk.endpoint },
      });
      expect(await ended(child)).toMatchObject({
        code: 0,
        errors: said(`warning: The checkpoint ${file}.millrace-checkpoint.json can't be written`),
      });
      expect(await desk.examples()).toHaveLength(300);
    },
  );
});

/** A checkpoint of an upload of the same file to a dataset of another id. */
function checkpointOfOther(file: string, dataset: string): string {
  const path = `${file}.other.json`;
  const known = { row: 1, digest: "-" };
  const target = `examples of dataset 01890a5d-ac96-774b-bcce-b302099a8057, not ${dataset}`;
  writeFileSync(path, JSON.stringify({ format: 1, target, rows: 1, first: known, last: known }));
  return path;
}
