import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatResults } from "../../src/evaluation/vitest/results-table.ts";
import { openClient } from "./evaluation-setup.ts";
import { createVitestProject, testImports as imports } from "./vitest-project.ts";

describe("nothing stored", () => {
  const source = `${imports}
    describe("offline", { evaluators: [function always() { return 1; }] }, () => {
      test("a", { inputs: { a: 1 } }, ({ experiment }) => {
        plainExpect(experiment).toBeUndefined();
        expect(1).toBe(1);
        score("half", 0.5);
      });
    });`;

  test("without a server the tests run, and the reporter prints one warning", async () => {
    const project = await createVitestProject({ "a.test.js": source, "b.test.js": source });
    const { code, output } = await project.run([], { MILLRACE_ENDPOINT: "http://127.0.0.1:9" });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output.match(/Nothing is stored/g)).toHaveLength(1);
    expect(output).toContain(
      'Nothing is stored for "offline": Failed to list datasets: connect ECONNREFUSED 127.0.0.1:9. The tests run nevertheless.',
    );
    expect(output).toMatch(/half +0.500 +0.500 +0.500 +2 +0/);
    expect(output).toContain("2 tests, 0 failed");
  });

  test("without the reporter the file prints the warning", async () => {
    const project = await createVitestProject(
      { "a.test.js": source },
      { config: 'reporters: ["default"]' },
    );
    const { code, output } = await project.run([], { MILLRACE_TRACING: "false" });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output.match(/Nothing is stored/g)).toHaveLength(1);
    expect(output).toContain("tracing is off (MILLRACE_TRACING=false");
  });

  test("with `enabled: false` there is no warning, and no request", async () => {
    const { client, url } = await openClient();
    const project = await createVitestProject({
      "a.test.js": source.replace('"offline", {', '"offline", { enabled: false,'),
    });
    const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).not.toContain("Nothing is stored");
    expect(await client.datasets.list().toArray()).toEqual([]);
  });

  test("a server that does not answer is not waited for long", async () => {
    const silent = createServer();
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => {
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const project = await createVitestProject({ "a.test.js": source });
    const { code, output } = await project.run([], {
      MILLRACE_ENDPOINT: `http://127.0.0.1:${port}`,
    });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain("no server has responded within 5000 ms");
  });

  test("results that the client does not record are counted", async () => {
    const { client, url } = await openClient();
    const project = await createVitestProject({
      "sampled.test.js": `${imports}
        import { Client } from "millrace";
        describe("sampled", { client: new Client({ samplingRate: 0 }) }, () => {
          test("a", { inputs: { a: 1 } }, () => ({}));
          test("b", { inputs: { a: 2 } }, () => ({}));
        });`,
    });
    const { code, output } = await project.run([], { MILLRACE_ENDPOINT: url });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain(
      "sampled: 2 results are not stored, because the client does not record every run",
    );
    expect(await client.runs.list({ projectNames: ["vitest on sampled"] }).toArray()).toEqual([]);
  });

  test("if the server refuses the key, the reason is in the warning", async () => {
    const { url } = await openClient();
    const project = await createVitestProject({ "a.test.js": source });
    const { code, output } = await project.run([], {
      MILLRACE_ENDPOINT: url,
      MILLRACE_API_KEY: "wrong",
    });
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toMatch(/Nothing is stored for "offline": .*401/);
  });
});

/** Sources with a mistake, and what the error says. */
const mistakes = [
  ['test("a", { inputs: {} }, () => {});', "call it within `describe` of millrace/vitest"],
  [
    'describe("a", () => { describe("b", () => {}); });',
    '"b" is within another describe of millrace/vitest',
  ],
  ['describe("a", { repetition: 2 }, () => {});', "did you mean `repetitions`?"],
  ['describe("a", () => { test("b", { input: {} }, () => {}); });', "did you mean `inputs`?"],
  ['describe("a", () => { test("b", { inputs: "c" }, () => {}); });', "must be an object"],
  [
    'describe("a", () => { test("b", { inputs: { big: 1n } }, () => {}); });',
    "is a BigInt, which JSON can't hold",
  ],
  ['describe("a", () => { test("b", () => {}); });', "an example such as { inputs"],
  ['describe("a", () => { test.each({})("b", () => {}); });', "pass an array of examples"],
  [
    'describe("a", { enabled: false }, () => { test("b", { inputs: {} }, () => {}); }); group("c", () => { test("d", { inputs: {} }, () => {}); });',
    'test "d": call it within `describe`',
  ],
  [
    'describe("a", { enabled: false }, () => { test("b", { inputs: {} }, async () => { await score(() => 1); }); });',
    "there are no outputs to judge",
  ],
  ['group("a", () => { group.skip; logOutputs(1); });', "logOutputs: call it in the function"],
] as const;

test("a mistake fails its file, with a message that says what is wrong and what to do", async () => {
  const files = mistakes.map(([source], index) => [`mistake-${index}.test.js`, imports + source]);
  const project = await createVitestProject(Object.fromEntries(files) as Record<string, string>, {
    config: 'reporters: ["json"]',
  });
  const { output } = await project.run();
  const { testResults } = JSON.parse(output.slice(output.indexOf("{"))) as {
    readonly testResults: readonly {
      readonly name: string;
      readonly message: string;
      readonly assertionResults: readonly { readonly failureMessages: readonly string[] }[];
    }[];
  };
  for (const [index, [, message]] of mistakes.entries()) {
    const result = testResults.find(({ name }) => name.endsWith(`/mistake-${index}.test.js`));
    expect(JSON.stringify(result)).toContain(JSON.stringify(message).slice(1, -1));
  }
});

test("the table has a row for each key, in which failures of evaluators are counted", () => {
  const text = formatResults([
    {
      dataset: "qa",
      experiment: { id: "1", name: "vitest on qa", url: "http://localhost/compare" },
      scores: [
        { key: "pass", score: 1 },
        { key: "judge", error: "no model" },
      ],
      durationMs: 10,
      hasFailed: false,
    },
    {
      dataset: "other",
      problem: "there is no server",
      scores: [{ key: "pass", score: 0 }],
      durationMs: 10,
      hasFailed: true,
    },
  ]);
  expect(text).toBe(` qa (vitest on qa)
   score  average  min  max  count  errors
   pass         1    1    1      1       0
   judge                         0       1
   1 tests, 0 failed, p50 10 ms
   http://localhost/compare

 other
   score  average  min  max  count  errors
   pass         0    0    0      1       0
   1 tests, 1 failed

 Warning: Nothing is stored for "other": there is no server. The tests run nevertheless.
`);
  expect(formatResults([])).toBe("");
});
