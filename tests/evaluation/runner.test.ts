import { afterEach, describe, expect, test } from "vitest";
import {
  evaluate,
  evaluateComparative,
  evaluateExperiment,
  evaluateTraces,
  setEvaluationRunner,
} from "../../src/evaluation/index.ts";
import type { EvaluationRunner } from "../../src/evaluation/index.ts";
import { add, createSums, isRight, openClient, settle } from "./evaluation-setup.ts";

afterEach(() => {
  setEvaluationRunner(undefined);
});

/** Sets a runner that writes down what it is told. */
function follow(options: EvaluationRunner["options"] = {}): unknown[] {
  const events: unknown[] = [];
  setEvaluationRunner({
    options,
    onStart: (evaluation, call) => {
      events.push(call);
      evaluation.then(
        ({ rows }) => events.push(`${rows} rows`),
        (error: unknown) => events.push((error as Error).message),
      );
      return {
        onExperiment: ({ name, url }) => events.push(name, url?.includes("/compare?") === true),
        onRowStart: ({ exampleId, repetition }) => events.push([typeof exampleId, repetition]),
      };
    },
  });
  return events;
}

describe("a runner", () => {
  test("follows an evaluation, and knows its address before the first row", async () => {
    const { client, journalDir } = await openClient();
    const data = await createSums(client, 2);
    const events = follow();
    await evaluate(add, { data, experiment: "followed", client, journalDir, concurrency: 1 });
    expect(events).toEqual(["evaluate", "followed", true, ["string", 1], ["string", 1], "2 rows"]);
  });

  test("can read what the target has cost so far, while it runs", async () => {
    const { client, journalDir } = await openClient();
    let readCosts: () => Promise<object> = async () => ({});
    setEvaluationRunner({
      onStart: (evaluation) => {
        evaluation.then(undefined, () => {});
        return {
          onExperiment: (_, read) => {
            readCosts = read;
          },
        };
      },
    });
    let costs: object = {};
    await evaluate(
      async ({ isLast }: { isLast: boolean }) => {
        if (isLast) {
          await client.flush();
          costs = await readCosts();
          return "end";
        }
        const metadata = { ls_provider: "openai", ls_model_name: "gpt-4o" };
        const usage = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 };
        client.startRun({ name: "model", runType: "llm", metadata }).end({ usage_metadata: usage });
        return "answer";
      },
      {
        data: [{ inputs: { isLast: false } }, { inputs: { isLast: true } }],
        concurrency: 1,
        client,
        journalDir,
      },
    );
    expect(costs).toEqual({ totalTokens: 1_100, totalCost: 0.0035 });
  });

  test("replaces options of the call, and keeps the others", async () => {
    const { client, journalDir } = await openClient();
    const data = await createSums(client, 2);
    const common = { data, evaluators: [isRight], client, journalDir };
    await evaluate(add, { ...common, experiment: "first" });
    follow({ repetitions: 2, baseline: "first" });
    const { rows, comparison } = await evaluate(add, {
      ...common,
      experiment: "second",
      repetitions: 5,
      baseline: { experiment: "none", lowerIsBetter: ["isRight"] },
    });
    expect(rows).toBe(4);
    expect(comparison).toMatchObject({
      baseline: { name: "first" },
      scores: { isRight: { higherIsBetter: false } },
    });
  });

  test("can end all evaluations, and receives failures that nobody else handles", async () => {
    const { client, journalDir } = await openClient();
    const abort = new AbortController();
    const events = follow({ signal: abort.signal, concurrency: 1 });
    const evaluation = evaluate(
      () => {
        abort.abort(new Error("enough"));
        return 1;
      },
      { data: [{ inputs: {} }, { inputs: {} }], client, journalDir },
    );
    await expect(settle(evaluation)).rejects.toThrow("aborted");
    expect(events.at(-1)).toBe("The evaluation was aborted");
  });

  test("follows the evaluation of existing runs, with its concurrency", async () => {
    const { client, journalDir } = await openClient();
    const data = await createSums(client, 3);
    await evaluate(add, { data, experiment: "existing", client, journalDir });
    const events = follow({ concurrency: 1 });
    let running = 0;
    const counts: number[] = [];
    await evaluateExperiment("existing", {
      evaluators: [
        async () => {
          running += 1;
          counts.push(running);
          await Promise.resolve();
          running -= 1;
          return 1;
        },
      ],
      client,
      journalDir,
    });
    expect(counts).toEqual([1, 1, 1]);
    expect(events).toEqual(["evaluateExperiment", "existing", true, "3 rows"]);
  });
});

test("functions that judge existing runs reject the options of evaluate by name", async () => {
  const options = { evaluators: [() => 1], resume: true };
  await expect(settle(evaluateExperiment("any", options))).rejects.toThrow(
    "evaluateExperiment: `resume` is an option of evaluate only",
  );
  await expect(settle(evaluateTraces({ projectName: "any", ...options }))).rejects.toThrow(
    "evaluateTraces: `resume` is an option of evaluate only",
  );
  await expect(
    settle(
      evaluateComparative(["one", "two"], {
        evaluators: [() => [1, 2]],
        cache: "auto",
      } as object as never),
    ),
  ).rejects.toThrow("evaluateComparative: `cache` is an option of evaluate only");
});
