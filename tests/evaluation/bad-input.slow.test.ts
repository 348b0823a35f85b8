import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { KeyStore } from "@millrace/server";
import { runOwnServer, temporaryFolder } from "../../server/tests/support/running-server.ts";
import { evaluate } from "../../src/evaluation/index.ts";
import { Client } from "../../src/main/index.ts";
import { add, createSums, openClient, toArray } from "./evaluation-setup.ts";

/** The message with which an evaluation fails. */
async function failureOf(evaluation: PromiseLike<unknown>): Promise<string> {
  try {
    await evaluation;
  } catch (error) {
    return (error as Error).message;
  }
  return "it did not fail";
}

const numbers = (count: number) =>
  Array.from({ length: count }, (_, a) => ({ inputs: { a }, outputs: a }));

describe("a target", () => {
  test("that hangs ends after timeoutMs, and its signal is aborted", async () => {
    const { client, journalDir } = await openClient();
    let wasAborted = false;
    const result = await evaluate(
      ({ a }, { signal }) =>
        a === 1
          ? new Promise<number>(() => {
              signal.addEventListener("abort", () => {
                wasAborted = true;
              });
            })
          : a,
      { data: numbers(3), timeoutMs: 100, client, journalDir },
    );
    expect(result).toMatchObject({ rows: 3, failed: 1, acknowledged: 3 });
    expect(wasAborted).toBe(true);
    const failed = (await toArray(result.readRows())).find(({ error }) => error !== undefined);
    expect(failed).toMatchObject({
      inputs: { a: 1 },
      error:
        "TimeoutError: The target target did not finish within 100 ms. Pass a longer timeoutMs, or make it stop when its signal is aborted",
    });
    const run = await client.runs.read(failed?.runId ?? "");
    expect(run).toMatchObject({ status: "error" });
  });

  test("that throws costs only its row, whose evaluators are not called", async () => {
    const { client, journalDir } = await openClient();
    const judged: unknown[] = [];
    const result = await evaluate(
      ({ a }) => {
        if (a === 1) {
          // oxlint-disable-next-line typescript/only-throw-error -- programs do that
          throw { status: 500 };
        }
        return a;
      },
      {
        data: numbers(3),
        evaluators: [
          function judge({ outputs }) {
            judged.push(outputs);
            return true;
          },
        ],
        client,
        journalDir,
      },
    );
    expect(result).toMatchObject({ rows: 3, failed: 1, scores: { judge: { count: 2 } } });
    expect(new Set(judged)).toEqual(new Set([0, 2]));
    const rows = await toArray(result.readRows());
    expect(rows.find(({ error }) => error !== undefined)?.error).toBe('{"status":500}');
  });

  test("that returns what JSON can't hold gets a row with a warning that says what and where", async () => {
    const { client, journalDir } = await openClient();
    const circular: Record<string, unknown> = { name: "loop" };
    circular["self"] = circular;
    const values: unknown[] = [
      { total: 12n },
      circular,
      { fn: add, not: Number.NaN },
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("no keys");
          },
        },
      ),
      new Map([["a", 1]]),
      (async function* stream() {
        await Promise.resolve();
        yield 1;
      })(),
    ];
    const result = await evaluate(({ a }) => values[a], {
      data: numbers(values.length),
      evaluators: [{ name: "called", evaluate: () => true }],
      client,
      journalDir,
    });
    expect(result).toMatchObject({
      rows: 6,
      failed: 0,
      acknowledged: 6,
      scores: { called: { count: 6 } },
    });
    const rows = (await toArray(result.readRows())).toSorted(
      (left, right) => left.inputs.a - right.inputs.a,
    );
    expect(rows.map(({ outputs, warnings }) => [outputs, warnings])).toEqual([
      [
        { total: "12" },
        ['outputs.total is a BigInt, which JSON can\'t hold; it is stored as "12"'],
      ],
      [
        { name: "loop", self: "[circular]" },
        ['outputs.self contains itself; it is stored as "[circular]"'],
      ],
      [
        { fn: "[function add]", not: "NaN" },
        [
          'outputs.fn is a function; it is stored as "[function add]"',
          'outputs.not is NaN, which JSON can\'t hold; it is stored as "NaN"',
        ],
      ],
      [
        "[unserializable]",
        ['outputs can\'t be read (no keys); it is stored as "[unserializable]"'],
      ],
      [{ a: 1 }, []],
      [expect.stringContaining("["), [expect.stringContaining("whose content is not read")]],
    ]);
  });

  test("that is no function is refused", async () => {
    const { client, journalDir } = await openClient();
    const evaluation = evaluate({} as never, { data: numbers(1), client, journalDir });
    expect(await failureOf(evaluation)).toBe(
      "evaluate: the target must be a function of the inputs, or an object with the method `invoke`",
    );
  });
});

describe("an evaluator", () => {
  test("that loops ends after timeoutMs, as its failure", async () => {
    const { client, journalDir } = await openClient();
    let isStopped = false;
    onTestFinished(() => {
      isStopped = true;
    });
    const result = await evaluate(({ a }) => a, {
      data: numbers(2),
      evaluators: [
        async function loops() {
          while (!isStopped) {
            await delay(1);
          }
          return true;
        },
        { name: "works", evaluate: () => true },
      ],
      timeoutMs: 100,
      client,
      journalDir,
    });
    expect(result).toMatchObject({
      rows: 2,
      scores: { loops: { count: 0, errors: 2 }, works: { count: 2 } },
    });
    const [row] = await toArray(result.readRows());
    expect(row?.scores[0]?.error).toContain("The evaluator loops did not finish within 100 ms");
  });

  test.each([
    [{ scor: 1 }, "it returned an object with an unknown member `scor`; did you mean `score`?"],
    [Number.NaN, "it returned a score that is NaN; a score is a finite number or a boolean"],
    [() => 1, "it returned a function; return a number"],
    [[1], "it returned an array in which an item is not an object"],
    [{ key: "", score: 1 }, "it returned a key that is not a string of 1 to 180 characters"],
  ])("that returns %o gets a failure that says what is wrong", async (returned, message) => {
    const { client, journalDir } = await openClient();
    const result = await evaluate(({ a }) => a, {
      data: numbers(1),
      evaluators: [{ name: "odd", evaluate: () => returned as number }],
      client,
      journalDir,
    });
    const [row] = await toArray(result.readRows());
    expect(row?.scores[0]?.error).toContain(message);
  });

  test("with the name of another one is refused", async () => {
    const { client, journalDir } = await openClient();
    const same = { name: "same", evaluate: () => 1 };
    const evaluation = evaluate(() => 1, {
      data: numbers(1),
      evaluators: [same, same],
      client,
      journalDir,
    });
    expect(await failureOf(evaluation)).toContain('Two evaluators have the name "same"');
  });
});

/** What the option `baseline` accepts. */
const baselines =
  'the name of an experiment, true for the one that is pinned on the dataset, false for none, or an object such as { experiment: "main", lowerIsBetter: ["latency"] }';

describe("options and data", () => {
  test.each<[string, object, string]>([
    [
      "an unknown option",
      { evaluator: [] },
      "evaluate: unknown option `evaluator`; did you mean `evaluators`?",
    ],
    ["langsmith's name", { maxConcurrency: 3 }, "evaluate: unknown option `maxConcurrency`"],
    [
      "no concurrency",
      { concurrency: 0 },
      "`concurrency` must be a whole number from 1 to 10000, not 0",
    ],
    [
      "a timeout",
      { timeoutMs: 1.5 },
      "`timeoutMs` must be a whole number from 1 to 2147483647, not 1.5",
    ],
    [
      "a number as a text",
      { repetitions: "3" },
      '`repetitions` must be a whole number from 1 to 1000, not "3"',
    ],
    ["evaluators that are a text", { evaluators: "x" }, "`evaluators` must be an array"],
    ["no evaluator", { evaluators: [null] }, "evaluators[0] must be a function, or an object"],
    [
      "an evaluator without a name",
      { evaluators: [{ name: "", evaluate: () => 1 }] },
      "evaluators[0].name must be a string of 1 to 180 characters",
    ],
    [
      "an evaluator with a long name",
      { evaluators: [add, { name: "n".repeat(181), evaluate: () => 1 }] },
      "evaluators[1].name must be a string of 1 to 180 characters",
    ],
    ["a summary evaluator", { summaryEvaluators: "x" }, "`summaryEvaluators` must be an array"],
    ["a client that is none", { client: {} }, "`client` must be a Client of millrace"],
    ["null as a client", { client: null }, "`client` must be a Client of millrace"],
    ["a description", { description: 9 }, "`description` must be a string, not 9"],
    ["metadata", { metadata: 5 }, "`metadata` must be an object such as"],
    ["a list as metadata", { metadata: ["a"] }, "`metadata` must be an object such as"],
    ["an odd resume", { resume: "yes" }, '`resume` must be "auto", true or false'],
    ["an odd baseline", { baseline: { name: "x" } }, "evaluate: `baseline`: unknown option `name`"],
    [
      "an empty baseline",
      { baseline: "" },
      `evaluate: \`baseline\` must be ${baselines}, not "". Check`,
    ],
    ["a number as a baseline", { baseline: 3 }, `\`baseline\` must be ${baselines}, not 3`],
    [
      "a list as a baseline",
      { baseline: ["main"] },
      `\`baseline\` must be ${baselines}, not a list`,
    ],
    [
      "an empty name of a baseline",
      { baseline: { experiment: "" } },
      'evaluate: `baseline.experiment` must be the name of an experiment, or true for the one that is pinned on the dataset, not "". Check',
    ],
    [
      "false as the name of a baseline",
      { baseline: { experiment: false } },
      "evaluate: `baseline.experiment` must be the name of an experiment, or true for the one that is pinned on the dataset, not false",
    ],
    [
      "a text as lowerIsBetter",
      { baseline: { lowerIsBetter: "lat" } },
      'evaluate: `baseline.lowerIsBetter` must be a list of feedback keys such as ["latency"], not "lat". Put the key in a list',
    ],
    [
      "a number in lowerIsBetter",
      { baseline: { lowerIsBetter: ["lat", 1] } },
      'evaluate: `baseline.lowerIsBetter` must be a list of feedback keys such as ["latency"], not a list with 1',
    ],
    ["a missing baseline", { baseline: "none" }, 'There is no experiment "none" to compare with'],
    ["a row without inputs", { data: [{ outputs: 1 }] }, "Row 1 of `data` has no `inputs`"],
    [
      "a row with `expected`",
      { data: [{ inputs: {}, expected: 1 }] },
      "Row 1 of `data` has an unknown member `expected`",
    ],
    ["a row that is none", { data: [{ inputs: {} }, 3] }, "Row 2 of `data` is not an object"],
    [
      "equal ids",
      {
        data: [
          { id: "a", inputs: {} },
          { id: "a", inputs: {} },
        ],
      },
      "Row 2 of `data` has the same id as an earlier row",
    ],
    [
      "a selection",
      { data: { datasetName: "x", split: "y" } },
      "evaluate: `data`: unknown option `split`; did you mean `splits`?",
    ],
    ["no data", { data: 3 }, "evaluate: `data` must be the name of a dataset"],
    ["an unknown dataset", { data: "missing" }, "Dataset[name=missing] not found."],
  ])("%s is refused in clear words", async (_, options, message) => {
    const { client, journalDir } = await openClient();
    const evaluation = evaluate(() => 1, {
      data: numbers(1),
      client,
      journalDir,
      ...options,
    });
    expect(await failureOf(evaluation)).toContain(message);
  });

  test("a version that the dataset does not have is named, with the option", async () => {
    const { client, journalDir } = await openClient();
    const datasetName = await createSums(client);
    const fail = (asOf: Date | string) =>
      failureOf(evaluate(add, { data: { datasetName, asOf }, client, journalDir }));
    expect(await fail("nope")).toContain(
      `evaluate: \`asOf\` of \`data\`: the dataset has no version with the tag "nope".`,
    );
    const time = "1999-12-31T00:00:00.000Z";
    const message = `evaluate: \`asOf\` of \`data\`: the dataset has no version at or before ${time}.`;
    expect(await fail(time)).toContain(message);
    expect(await fail(new Date(time))).toContain(message);
    const allowed = "evaluate: `asOf` of `data` must be a Date, a string with a time";
    expect(await fail("")).toContain(allowed);
    expect(await fail(new Date(Number.NaN))).toContain(allowed);
    // V8 parses "v1" as a time.
    expect(await fail("v1")).toContain('the dataset has no version with the tag "v1".');
    await client.datasets.tag({ datasetName, asOf: "latest", tag: "v1" });
    expect(await fail("v1")).toBe("it did not fail");
  });

  test("data that throws ends the evaluation, and keeps the rows before it", async () => {
    const { client, journalDir } = await openClient();
    let isBroken = true;
    async function* rows() {
      await Promise.resolve();
      yield* numbers(3);
      if (isBroken) {
        throw new Error("the file is gone");
      }
      yield { inputs: { a: 3 }, outputs: 3 };
    }
    const options = { client, journalDir, experiment: "broken data", concurrency: 2 };
    const target = ({ a }: { a: number }) => a;
    expect(await failureOf(evaluate(target, { data: rows(), ...options }))).toBe(
      "the file is gone",
    );
    isBroken = false;
    const result = await evaluate(target, { data: rows(), ...options });
    expect(result).toMatchObject({ rows: 4, resumed: 3, acknowledged: 4 });
  });

  test("no rows: the result says so", async () => {
    const { client, journalDir } = await openClient();
    const { id: datasetId } = await client.datasets.create({ name: "empty" });
    for (const data of [[], { datasetId }]) {
      const result = await evaluate(() => 1, { data, client, journalDir });
      expect(result.rows).toBe(0);
      expect(result.warnings).toEqual(["The data has no rows, so nothing was evaluated."]);
    }
  });

  test("a client that does not record is refused, instead of an experiment without rows", async () => {
    const { url, journalDir } = await openClient();
    const client = new Client({ endpoint: url, samplingRate: 0 });
    onTestFinished(async () => {
      await client.close();
    });
    const evaluation = evaluate(() => 1, { data: numbers(1), client, journalDir });
    expect(await failureOf(evaluation)).toContain("The client does not record every run");
  });

  test("a journal folder that can't be created is named", async () => {
    const { client, journalDir } = await openClient();
    await mkdir(journalDir, { recursive: true });
    const file = join(journalDir, "file");
    await writeFile(file, "");
    const evaluation = evaluate(() => 1, { data: numbers(1), client, journalDir: file });
    expect(await failureOf(evaluation)).toContain("for the journal can't be created");
  });

  test("the failure is thrown to who iterates over the rows, after the rows before it", async () => {
    const { client, journalDir } = await openClient();
    async function* rows() {
      await Promise.resolve();
      yield* numbers(2);
      throw new Error("the file is gone");
    }
    const seen: unknown[] = [];
    const iterate = async (): Promise<void> => {
      for await (const { outputs } of evaluate(({ a }) => a, {
        data: rows(),
        client,
        journalDir,
      })) {
        seen.push(outputs);
      }
    };
    await expect(iterate()).rejects.toThrow("the file is gone");
    expect(new Set(seen)).toEqual(new Set([0, 1]));
  });

  test("an abort before the first row has the same error", async () => {
    const { client, journalDir } = await openClient();
    const abort = new AbortController();
    async function* rows() {
      // Read while the experiment is being opened.
      abort.abort();
      yield { inputs: {} };
    }
    const options = { data: rows(), client, journalDir, signal: abort.signal };
    expect(await failureOf(evaluate(() => 1, options))).toBe("The evaluation was aborted");
  });

  test("an aborted signal ends it at once, also while a target hangs", async () => {
    const { client, journalDir } = await openClient();
    const evaluation = evaluate(() => new Promise<number>(() => {}), {
      data: numbers(3),
      signal: AbortSignal.timeout(200),
      client,
      journalDir,
    });
    expect(await failureOf(evaluation)).toBe("The evaluation was aborted");
  });
});

test("a project's key is enough: no call needs more", async () => {
  const dataDir = await temporaryFolder();
  const server = await runOwnServer({ dataDir });
  const keys = new KeyStore(dataDir);
  const { key } = await keys.create({ tenant: "team" });
  keys.close();
  const client = new Client({ endpoint: server.url, apiKey: key });
  onTestFinished(async () => {
    await client.close();
  });
  const data = await createSums(client);
  const common = { data, client, journalDir: await temporaryFolder() };
  await evaluate(add, { ...common, experiment: "base" });
  const result = await evaluate(add, { ...common, baseline: "base" });
  expect(result).toMatchObject({ rows: 4, acknowledged: 4, comparison: { examples: 4 } });
});
