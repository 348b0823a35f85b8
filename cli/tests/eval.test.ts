import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { script } from "./support/command.ts";
import { startCountingApi, useEvalFixture } from "./support/eval-fixture.ts";

// Each run of the command starts two processes, which takes time.
vi.setConfig({ testTimeout: 120_000 });

const fixture = useEvalFixture();

/** A file that evaluates sums. `target` is its target, and `options` are further options. */
const sums = (name: string, target = "({ a }) => a + 1", options = ""): string => `
import { evaluate } from "millrace/evaluation";
const data = [0, 1, 2, 3].map((a) => ({ inputs: { a }, outputs: a + 1 }));
const right = ({ outputs, referenceOutputs }: any) => outputs === referenceOutputs;
evaluate(${target.replace("({ a })", "({ a }: any)")}, {
  data, evaluators: [right], experiment: ${JSON.stringify(name)}, ${options}
});
`;

/** The same without types. */
const plainSums = (...args: Parameters<typeof sums>): string =>
  sums(...args).replaceAll(": any", "");

/** The names and texts of all journals in a folder. */
const readJournals = (
  folder: string,
): readonly { readonly name: string; readonly text: string }[] =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));

test("a file of TypeScript runs, and the address of the experiment is printed first", async () => {
  const { runEval } = fixture.createFolder({
    "sums.eval.ts": `import { plus } from "./plus.ts";\n${sums("sums 1", "({ a }) => plus(a)")}`,
    "plus.ts": "export const plus = (a: number): number => a + 1;",
  });
  const { code, output } = await runEval("sums.eval.ts");
  const [first, ...others] = output
    .trimEnd()
    .split("\n")
    // Progress is printed only if a busy machine takes longer than usual.
    .filter((line) => !/: rows \d+ of \d+, /.test(line));
  expect(first).toMatch(/^sums 1: http:\/\/127\.0\.0\.1:\d+\/o\/.*\/projects\/p\/[\w-]+$/);
  expect(others).toEqual([expect.stringMatching(/^sums 1: 4 rows, right 1, p50 .* ms, 0 failed$/)]);
  expect(code).toBe(0);
});

test("without files, those of the folder run, one after the other; a file runs with plain node too", async () => {
  const { runEval, start, path } = fixture.createFolder({
    "b.eval.js": plainSums("sums b"),
    "deep/a.eval.mjs": plainSums("sums a"),
    "node_modules/c.eval.js": plainSums("sums c"),
    "other.js": "throw new Error('not a file of evaluations');",
  });
  const { code, output } = await runEval();
  expect(output.match(/^sums \w(?=: 4 rows)/gm)).toEqual(["sums b", "sums a"]);
  expect(code).toBe(0);
  expect(await start(["b.eval.js"]).ended).toEqual({ code: 0, output: "" });
  const journals = readJournals(path(".millrace/evaluations")).map(({ text }) => text);
  expect(journals.filter((text) => text.includes('{"end"'))).toHaveLength(3);
});

test("what a file prints is printed, and its arguments are those of plain node", async () => {
  const { runEval } = fixture.createFolder({
    "a.eval.js": `console.log("args", process.argv.length); console.error("to stderr");${plainSums("prints")}`,
  });
  const { output } = await runEval("a.eval.js");
  expect(output).toContain("args 2\n");
  expect(output).toContain("to stderr\n");
});

describe("exit codes", () => {
  test("data without rows is a failure: a mistyped split must not pass", async () => {
    const { runEval } = fixture.createFolder({
      "a.eval.js": plainSums("no rows").replace(/const data = .*;/, "const data = [];"),
    });
    const { code, output } = await runEval("a.eval.js", "--max-errors", "9");
    expect(output).toContain(
      "failed: no rows: its data has no rows; check dataset, splits and filter",
    );
    expect(code).toBe(1);
  });

  test("why a target and an evaluator failed is printed, each reason once", async () => {
    const { runEval } = fixture.createFolder({
      "a.eval.js": plainSums(
        "boom",
        '({ a }) => { if (a === 0) return 1; throw new Error("no \\u001b key"); }',
      ).replace(
        "evaluators: [right]",
        'evaluators: [function judge() { throw new Error("judge key missing"); }]',
      ),
    });
    const { code, output } = await runEval("a.eval.js");
    expect(output).toMatch(/^ {2}the target failed 3 times: Error: no +key$/m);
    expect(output).toMatch(/^ {2}judge failed: Error: judge key missing$/m);
    expect(output).not.toContain("\u001b");
    expect(code).toBe(1);
  });

  test("a score below its minimum is a failure, and so is one that no evaluation has", async () => {
    const { runEval } = fixture.createFolder({
      "a.eval.js": plainSums("half right", "({ a }) => (a < 2 ? a + 1 : 0)"),
    });
    const failed = await runEval("a.eval.js", "--fail-under", "right=0.8");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("failed: half right: right is 0.5, below 0.8\n");
    const misspelled = await runEval("a.eval.js", "--fail-under", "rihgt=0.1");
    expect(misspelled.code).toBe(1);
    expect(misspelled.output).toContain("no evaluation has a score rihgt; the scores are right");
    expect((await runEval("a.eval.js", "--fail-under", "right=0.5")).code).toBe(0);
  });

  test("errors of targets and evaluators are failures, unless they are accepted", async () => {
    const throwing = "({ a }) => { if (a === 1) throw new Error('no one'); return a + 1; }";
    const { runEval } = fixture.createFolder({ "a.eval.js": plainSums("throws", throwing) });
    const failed = await runEval("a.eval.js");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain(
      "failed: throws: the target failed for 1 of 4 rows, and evaluators failed 0 times",
    );
    expect((await runEval("a.eval.js", "--max-errors", "1")).code).toBe(0);
  });

  test("regressions against the baseline are failures, unless they are accepted", async () => {
    const { runEval, path } = fixture.createFolder({
      "old.eval.js": plainSums("old sums"),
      "new.eval.js": plainSums("new sums", "({ a }) => (a === 3 ? 0 : a + 1)"),
    });
    expect((await runEval("old.eval.js")).code).toBe(0);
    const failed = await runEval("new.eval.js", "--baseline", "old sums");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("  against old sums: 1 regression, 0 improvements\n");
    expect(failed.output).toMatch(/^ {4}right 1 -> 0 for example [\w-]{36}: \{"a":3\}$/m);
    expect(failed.output).toContain("    right 1 -> 0.75: 0 better, 1 worse, p = 1\n");
    expect(failed.output).toContain("failed: new sums: 1 regression against old sums\n");
    const accepted = await runEval(
      "new.eval.js",
      "--baseline",
      "old sums",
      "--max-regressions",
      "1",
      "--reporter",
      "junit=report.xml",
      "--reporter",
      "markdown=report.md",
    );
    expect(accepted.code).toBe(0);
    expect(readFileSync(path("report.md"), "utf8")).toMatch(
      /^- right 1 -> 0 for example [\w-]{36}: \{"a":3\}$/m,
    );
    expect(readFileSync(path("report.xml"), "utf8")).toMatch(
      /<failure message="right 1 -&gt; 0 for example [\w-]{36}: \{&quot;a&quot;:3\}"\/>/,
    );
  });

  test.each([
    [["none.eval.ts"], "there is no file none.eval.ts"],
    [["."], "there is no file *.eval.ts or *.eval.js in this folder"],
    [["a.mjs", "--fail-under", "right"], "--fail-under right: pass a score and its minimum"],
    [["a.mjs", "--reporter", "junit"], "--reporter junit: pass a format and a file"],
    [["a.mjs", "--reporter", "html=a"], "the formats are json, junit, markdown"],
    [["a.mjs", "--cache", "always"], "--cache must be auto, record, replay, not always"],
    [["a.mjs", "--endpoint", "foo"], "Option endpoint must be a URL"],
    [["a.mjs", "--repetitions", "0"], "--repetitions must be a whole number from 1 to 1000, not 0"],
    [["a.mjs", "--nothing"], "unknown option '--nothing'"],
  ])("%j is a usage error", async (args, message) => {
    const { runEval } = fixture.createFolder({ "a.mjs": plainSums("unused") });
    const { code, output } = await runEval(...args);
    expect(output).toContain(message);
    expect(code).toBe(2);
  });

  test("a file that can't be loaded, ends its process or starts no evaluation is a failure", async () => {
    const { runEval } = fixture.createFolder({
      "throws.eval.js": "throw new Error('a mistake');",
      "exits.eval.js": "process.exit(0);",
      "empty.eval.js": "export const nothing = 1;",
      "checks.eval.js": `process.exitCode = 3;${plainSums("checks")}`,
      "awaits.eval.js": plainSums("awaited", "({ a }) => a", "concurrency: 0").replace(
        "\nevaluate(",
        "\nawait evaluate(",
      ),
    });
    const { code, output } = await runEval();
    expect(code).toBe(1);
    expect(output).toContain("failed: throws.eval.js: Error: a mistake\n");
    expect(output).toContain(
      "failed: exits.eval.js: its process ended with exit code 0 before its evaluations",
    );
    expect(output).toContain("failed: checks.eval.js: its process ended with exit code 3\n");
    expect(output).toContain("failed: empty.eval.js starts no evaluation; call evaluate");
    expect(output.match(/^failed: .*`concurrency` must be/gm)).toHaveLength(1);
  });
});

test.each(["awaits.eval.js", "awaits.eval.ts"])(
  "%s in a package of CommonJS modules: the error says how it can use await",
  async (name) => {
    const { runEval } = fixture.createFolder({
      "package.json": "{}",
      [name]: plainSums("awaited").replace("\nevaluate(", "\nawait evaluate("),
    });
    const { code, output } = await runEval();
    expect(code).toBe(1);
    expect(output).toContain(`failed: ${name}: the file is a CommonJS module`);
    expect(output).toContain('Set "type": "module" in the package.json');
  },
);

test("options of the command replace those of the file", async () => {
  const { runEval } = fixture.createFolder({
    "a.eval.js": plainSums("repeated", "({ a }) => a + 1", "repetitions: 1, concurrency: 4"),
  });
  const { output } = await runEval("a.eval.js", "--repetitions", "3", "--concurrency", "1");
  expect(output).toContain("repeated: 12 rows,");
});

test("with --cache a client that the file creates is cached, and a second run makes no request", async () => {
  const api = await startCountingApi();
  const { runEval } = fixture.createFolder({
    "a.eval.js": `
      const send = globalThis.fetch;
      const ask = async (a) => (await (await send("${api.url}", { method: "POST", body: String(a) })).json()).answer;
      ${plainSums("cached", "({ a }) => ask(a)", "resume: false")}`,
  });
  expect((await runEval("a.eval.js", "--cache", "auto")).output).not.toContain("warning");
  expect(api.requests).toBe(4);
  const second = await runEval("a.eval.js", "--cache", "replay", "--fail-under", "right=0");
  expect(second.code).toBe(0);
  expect(second.output).toContain("  cache: 4 replayed, 0 recorded\n");
  expect(api.requests).toBe(4);
  const elsewhere = await runEval("a.eval.js", "--cache", "replay", "--cache-folder", "other");
  expect(elsewhere.code).toBe(1);
  expect(elsewhere.output).toContain("warning: cache: 4 requests have no recorded response");
});

test("reports are written as JSON, Markdown and JUnit", async () => {
  const throwing = "({ a }) => { if (a === 1) throw new Error('<no> & \\u0000one'); return 1; }";
  const { runEval, path } = fixture.createFolder({ "a.eval.js": plainSums("reported", throwing) });
  const { code, output } = await runEval(
    "a.eval.js",
    "--reporter",
    "json=out/report.json",
    "--reporter",
    "markdown=report.md",
    "--reporter",
    "junit=report.xml",
    "--fail-under",
    "right=0.9",
  );
  expect(code).toBe(1);
  expect(output).toContain("report: out/report.json\nreport: report.md\nreport: report.xml\n");
  const read = (name: string): string => readFileSync(path(name), "utf8");
  const json = JSON.parse(read("out/report.json")) as { evaluations: { rows: unknown[] }[] };
  expect(json).toMatchObject({
    passed: false,
    failures: [expect.stringContaining("the target failed"), expect.stringContaining("below 0.9")],
    evaluations: [{ name: "reported", result: { rows: 4, failed: 1 } }],
  });
  expect(json.evaluations[0]?.rows).toHaveLength(4);
  const markdown = read("report.md");
  expect(markdown).toContain("# Evaluation: failed\n");
  expect(markdown).toMatch(/\| \[reported\]\(http:.*\) \| 4 \| 0\.333 \| .* ms \| - \| 1 \|/);
  expect(markdown).toContain('- {"a":1}: Error: \\<no\\> &');
  const xml = read("report.xml");
  expect(xml).toContain('tests="4" failures="0" errors="1"');
  expect(xml).toContain('<testsuite name="a.eval.js checks" tests="2" failures="2" errors="0">');
  expect(xml).toContain('<property name="experiment" value="reported"/>');
  // The experiment's name has a number that grows with each run.
  expect(new Set(xml.match(/classname="[^"]*"/g))).toEqual(
    new Set(['classname="a.eval.js"', 'classname="a.eval.js checks"']),
  );
  expect(xml).toContain('name="{&quot;a&quot;:1}"');
  expect(xml).toContain('<error message="Error: &lt;no&gt; &amp; \ufffdone"/>');
  expect(xml).toContain('name="fail-under right"><failure message="right is 0.333, below 0.9"/>');
});

describe("an interrupt", () => {
  test("ends the evaluation, keeps its rows, and the same command continues", async () => {
    const waiting =
      "async ({ a }) => { if (a > 1 && process.env.WAIT) await new Promise((resolve) => setTimeout(resolve, 60_000)); return a + 1; }";
    const { start } = fixture.createFolder({
      "a.eval.js": plainSums(
        "interrupted",
        waiting,
        "concurrency: 1, onRow: () => console.log('row')",
      ),
    });
    const run = start([script, "eval", "a.eval.js"], { WAIT: "1" });
    await run.printed("row\nrow\n");
    run.child.kill("SIGINT");
    const { code, output } = await run.ended;
    expect(code).toBe(1);
    expect(output).toContain("failed: interrupted; to continue, run the same command again\n");
    const second = await start([script, "eval", "a.eval.js"]).ended;
    expect(second.output).toContain("interrupted: 4 rows (2 resumed), right 1");
    expect(second.code).toBe(0);
  });

  test("names the row that was started last if a target blocks the thread", async () => {
    const blocking =
      "({ a }) => { if (a === 2) { console.log('blocks'); for (;;); } return a + 1; }";
    const { startEval, path } = fixture.createFolder({
      "a.eval.js": plainSums("blocked", blocking, "concurrency: 1"),
    });
    const run = startEval("a.eval.js");
    await run.printed("blocks");
    run.child.kill("SIGINT");
    const { code, output } = await run.ended;
    expect(code).toBe(1);
    const [, exampleId, experimentId] =
      /a\.eval\.js was killed, because its target or an evaluator blocks the thread\. The row that was started last is example ([\w-]{36}), repetition 1, of experiment ([\w-]{36})\./.exec(
        output,
      ) ?? [];
    const [journal] = readJournals(path(".millrace/evaluations"));
    expect(journal?.name).toContain(experimentId);
    const lines = journal?.text.split("\n") ?? [];
    const rows = lines.filter((line) => line.startsWith('{"row"'));
    expect(rows).toHaveLength(2);
    expect(rows.join()).not.toContain(exampleId);
  });
});

test("--watch runs only those files again whose modules have changed", async () => {
  const { startEval, write } = fixture.createFolder({
    "one.eval.ts": `import { plus } from "./plus.ts";\n${sums("watched one", "({ a }) => plus(a)")}`,
    "two.eval.ts": sums("watched two"),
    "plus.ts": "export const plus = (a: number): number => a + 1;",
  });
  const run = startEval("--watch");
  await run.printed("waiting for changes; press Ctrl-C to stop");
  expect(run.text()).toContain("watched two: 4 rows");
  write("plus.ts", "export const plus = (a: number): number => a + 2;");
  await run.printed(/watched one-2: 4 rows, right 0.*\n[^]*waiting for changes/);
  write("two.eval.ts", sums("watched two", "({ a }) => a"));
  await run.printed(/watched two-2: 4 rows, right 0.*\n[^]*waiting for changes/);
  run.child.kill("SIGINT");
  const { output } = await run.ended;
  expect(output.match(/^watched (?:one|two)\S*(?=: 4 rows)/gm)).toEqual([
    "watched one",
    "watched two",
    "watched one-2",
    "watched two-2",
  ]);
});
