// Creates a dataset, evaluates two programs on it, and compares them.
import { Client } from "langsmith";
import { evaluate, StringEvaluator } from "langsmith/evaluation";
import type { EvaluationResult } from "langsmith/evaluation";
import type { Example, Run } from "langsmith/schemas";
import { traceable } from "langsmith/traceable";

const client = new Client();
const datasetName = "capitals";

const capitals: Record<string, string> = { France: "Paris", Norway: "Oslo", Peru: "Lima" };

async function createDataset(): Promise<string> {
  const dataset = await client.createDataset(datasetName, {
    description: "Countries and their capitals",
    metadata: { source: "atlas" },
  });
  await client.createExamples({
    datasetId: dataset.id,
    inputs: Object.keys(capitals).map((country) => ({ country })),
    outputs: Object.values(capitals).map((capital) => ({ capital })),
    metadata: Object.keys(capitals).map((country) => ({ letters: country.length })),
    splits: ["train", "train", "test"],
  });
  const extra = await client.createExample(
    { country: "Atlantis" },
    { capital: "none" },
    { datasetId: dataset.id, split: "test", metadata: { letters: 8 } },
  );
  await client.updateExample(extra.id, { outputs: { capital: "unknown" } });
  const removed = await client.createExample({
    dataset_id: dataset.id,
    inputs: { country: "Nowhere" },
    outputs: { capital: "nothing" },
  });
  await client.deleteExample(removed.id);
  return dataset.id;
}

async function describeDataset(datasetId: string): Promise<void> {
  const { name, description, example_count: count } = await client.readDataset({ datasetId });
  console.log("dataset", name, description, count);
  const examples: string[] = [];
  for await (const example of client.listExamples({ datasetId, splits: ["test"] })) {
    examples.push(JSON.stringify([example.inputs, example.outputs, example.metadata?.["letters"]]));
  }
  console.log("test split", examples.toSorted());
  console.log("splits", (await client.listDatasetSplits({ datasetId })).toSorted());
  console.log("exists", await client.hasDataset({ datasetName }));
}

const search = traceable(async (country: string) => capitals[country] ?? "unknown", {
  name: "search",
  run_type: "retriever",
});

/** Knows all capitals, and says so in many words. */
async function atlas(input: { country: string }): Promise<{ capital: string; words: number }> {
  const capital = await search(input.country);
  return { capital, words: capital.length };
}

/** Knows only one capital, and fails for a country that it never heard of. */
async function guesser(input: { country: string }): Promise<{ capital: string; words: number }> {
  if (input.country === "Atlantis") {
    throw new Error("never heard of it");
  }
  return { capital: "Paris", words: 5 };
}

/** An evaluator with named arguments. */
const correct = ({
  outputs,
  referenceOutputs,
}: {
  outputs: Record<string, unknown>;
  referenceOutputs?: Record<string, unknown>;
}): EvaluationResult => ({
  key: "correct",
  score: outputs["capital"] === referenceOutputs?.["capital"],
  comment: `said ${String(outputs["capital"])}`,
});

/** An evaluator of the older form, with several results. */
const lengths = (run: Run, example?: Example) => {
  if (run.error !== undefined) {
    throw new Error("nothing to measure");
  }
  return {
    results: [
      { key: "length", score: String(run.outputs?.["capital"] ?? "").length },
      { key: "country", value: String(example?.inputs["country"]) },
    ],
  };
};

const similar = new StringEvaluator({
  evaluationName: "same text",
  inputKey: "country",
  predictionKey: "capital",
  answerKey: "capital",
  gradingFunction: async ({ prediction, answer }) => ({ score: prediction === answer ? 1 : 0 }),
});

/** An evaluator of all rows. */
const share = (runs: Run[], examples: Example[]): EvaluationResult => ({
  key: "share",
  score:
    runs.filter((run, index) => run.outputs?.["capital"] === examples[index]?.outputs?.["capital"])
      .length / runs.length,
});

const countRows = ({ runs }: { runs: Run[] }): EvaluationResult => ({
  key: "rows",
  score: runs.length,
});

async function evaluateTarget(
  target: typeof atlas,
  options: { prefix: string; repetitions?: number },
): Promise<string> {
  const results = await evaluate(target, {
    data: datasetName,
    evaluators: [correct, lengths, similar],
    summaryEvaluators: [share, countRows],
    experimentPrefix: options.prefix,
    metadata: { program: options.prefix },
    maxConcurrency: 2,
    client,
    ...(options.repetitions === undefined ? {} : { numRepetitions: options.repetitions }),
  });
  const rows = results.results.map(({ run, example, evaluationResults }) =>
    JSON.stringify([
      example.inputs,
      run.outputs ?? null,
      run.error?.split("\n")[0] ?? null,
      evaluationResults.results
        .filter(() => run.error === undefined)
        .map(({ key, score, value }) => [key, score ?? null, value ?? null]),
    ]),
  );
  console.log(options.prefix, rows.length, rows.toSorted().join("\n"));
  console.log(
    "summary",
    results.summaryResults.results.map(({ key, score }) => [key, score]),
  );
  console.log("name", results.experimentName.replace(/-[\da-f]{8}$/, ""));
  return results.experimentName;
}

async function compare(names: string[]): Promise<void> {
  const compared = await evaluate(names, {
    evaluators: [
      (runs: Run[], example: Example) => ({
        key: "better",
        scores: Object.fromEntries(
          runs.map((run) => [
            run.id,
            run.outputs?.["capital"] === example.outputs?.["capital"] ? 1 : 0,
          ]),
        ),
      }),
    ],
    description: "Which program is better",
    client,
  });
  const scores = compared.results.map((result) => Object.values(result.scores).join(","));
  console.log("compared", scores.toSorted());
}

async function readFeedback(experimentName: string): Promise<void> {
  const runs: Run[] = [];
  for await (const run of client.listRuns({ projectName: experimentName, isRoot: true })) {
    runs.push(run);
  }
  const keys = new Map<string, number>();
  for await (const feedback of client.listFeedback({ runIds: runs.map(({ id }) => id) })) {
    keys.set(feedback.key, (keys.get(feedback.key) ?? 0) + 1);
  }
  console.log(
    "runs",
    runs.length,
    [...keys].toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
  const project = await client.readProject({ projectName: experimentName, includeStats: true });
  console.log("project", project.run_count);
}

const datasetId = await createDataset();
await describeDataset(datasetId);
const first = await evaluateTarget(atlas, { prefix: "atlas" });
const second = await evaluateTarget(guesser, { prefix: "guesser", repetitions: 2 });
await client.awaitPendingTraceBatches();
await readFeedback(first);
const third = await evaluateTarget(atlas, { prefix: "again" });
await client.awaitPendingTraceBatches();
await compare([first, third]);
await readFeedback(second);
await client.awaitPendingTraceBatches();
