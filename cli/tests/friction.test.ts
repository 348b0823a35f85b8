import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test, vi } from "vitest";
import { findSimilarNames } from "../src/similar-names.ts";
import { ended, start } from "./support/command.ts";
import { useRowFixture } from "./support/rows.ts";

// Each run of the command starts a process, which takes time.
vi.setConfig({ testTimeout: 60_000 });

const fixture = useRowFixture();

/** Port 9 (discard): nothing listens there. */
const dead = { MILLRACE_ENDPOINT: "http://127.0.0.1:9" };

describe("download", () => {
  const fill = async (): Promise<void> => {
    writeFileSync(fixture.path("in.jsonl"), '{"inputs":{"q":"one"}}\n');
    expect(await fixture.upload(fixture.path("in.jsonl"))).toMatchObject({ code: 0 });
  };

  test("infers format and compression from the file's name", async () => {
    await fill();
    const to = async (name: string): Promise<string> => {
      const file = fixture.path(name);
      const run = await fixture.run("download", "--dataset", fixture.dataset, "--output", file);
      expect(run).toMatchObject({ code: 0 });
      return file;
    };
    expect(readFileSync(await to("out.csv"), "utf8")).toMatch(/^.*inputs.*\r?\n/);
    const packed = gunzipSync(readFileSync(await to("out.jsonl.gz"))).toString();
    expect(JSON.parse(packed)).toMatchObject({ inputs: { q: "one" } });
    expect(
      readFileSync(await to("out.parquet"))
        .subarray(0, 4)
        .toString(),
    ).toBe("PAR1");
  });

  test.each([
    [[], "standard output has no file name to infer it from"],
    [["--output", "rows.txt"], 'the name "rows.txt" does not end in .csv, .jsonl or .parquet'],
  ])("with %j reports that the format is missing, and why", async (flags, why) => {
    expect(await fixture.run("download", "--dataset", "any", ...flags)).toMatchObject({
      code: 2,
      errors: `error: --format csv, jsonl or parquet is required: ${why}\n`,
    });
  });
});

describe("a server that never responds", () => {
  test.each([
    ["upload", ["upload", "FILE", "--dataset", "any", "--create"]],
    ["download", ["download", "--dataset", "any", "--format", "csv"]],
  ])("is reported at once by %s, which fails within seconds", async (_name, args) => {
    const file = fixture.path("in.jsonl");
    writeFileSync(file, '{"q":1}\n');
    const beganAt = performance.now();
    const child = start(
      args.map((word) => (word === "FILE" ? file : word)),
      dead,
    );
    const first = new Promise<number>((resolve) => {
      child.stderr.once("data", () => resolve(performance.now() - beganAt));
    });
    const { code, errors } = await ended(child);
    const tookMs = performance.now() - beganAt;
    const [notice, failure] = errors.trim().split("\n");
    expect(code).toBe(1);
    expect(notice).toMatch(
      /^no response from http:\/\/127\.0\.0\.1:9: .*ECONNREFUSED.*; retrying for 2 s$/,
    );
    expect(failure).toMatch(
      /^error: no server responds at http:\/\/127\.0\.0\.1:9: .*npx millrace serve/,
    );
    // The command waits for 2 s; the remainder is the start of a process on a busy machine.
    expect(tookMs - (await first)).toBeLessThan(6_000);
    expect(existsSync(`${file}.millrace-checkpoint.json`)).toBe(false);
  });
});

describe("a dataset that does not exist", () => {
  test("is reported with the most similar names, and with --create where it could be created", async () => {
    const { dataset } = fixture;
    await fixture.client.datasets.create({ name: dataset });
    writeFileSync(fixture.path("a.jsonl"), '{"n":1}\n');
    const name = dataset.replace("rows", "rosw");
    const upload = await fixture.run("upload", fixture.path("a.jsonl"), "--dataset", name);
    expect(upload.code).toBe(1);
    expect(upload.errors).toMatch(
      new RegExp(
        `^error: there is no dataset "${name}"; did you mean .*"${dataset}".*\\?; pass --create to create it\n$`,
      ),
    );
    const download = await fixture.run("download", "--dataset", name, "--format", "csv");
    expect(download).toMatchObject({ code: 1, output: "" });
    expect(download.errors).toContain(`there is no dataset "${name}"; did you mean`);
    expect(download.errors).not.toContain("--create");
  });

  test("has similar names only if there are any", () => {
    const names = ["questions", "answers", "question-set", "support"];
    expect(findSimilarNames("questoins", names)[0]).toBe("questions");
    expect(findSimilarNames("question", names)).toEqual(["questions", "question-set"]);
    expect(findSimilarNames("zzz", names)).toEqual([]);
    expect(findSimilarNames("Support", names)).toEqual(["support"]);
  });
});
