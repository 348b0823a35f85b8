// Evaluates two versions of a program on the question "Which licence does this paragraph come from?", and compares them.
// See README.md in this folder.
import { Client } from "millrace";
import { evaluate, exactMatch } from "millrace/evaluation";
import type { EvaluationResult } from "millrace/evaluation";
import { createGuesser } from "./guess-licence.ts";
import type { Guess, Question } from "./guess-licence.ts";
import { readParagraphs } from "./paragraphs.ts";

const [journalDir] = process.argv.slice(2);
const client = new Client();
const { known, questions } = readParagraphs();

// 1. The dataset. Rows have ids that follow from their content, so a second run creates none twice.
const datasetName = "licence questions";
await client.examples.upload(
  questions.map(({ text, licence }) => ({ inputs: { text }, outputs: { licence } })),
  { datasetName, createDataset: { description: "From which licence is this paragraph?" } },
);

// 2. The evaluators: a built-in one, and one of this program.
const evaluators = [
  exactMatch({ path: "licence", key: "right" }),
  function amongFive({
    outputs,
    referenceOutputs,
  }: {
    readonly outputs: Guess;
    readonly referenceOutputs: Pick<Guess, "licence">;
  }): boolean {
    return outputs.candidates.includes(referenceOutputs.licence);
  },
];

// 3. Two versions. The second is compared with the first.
const common = { data: datasetName, evaluators, concurrency: 8, client, journalDir };
const titles = await evaluate<Question, Guess, Pick<Guess, "licence">>(
  createGuesser(known, ["title"]),
  { ...common, experiment: "titles" },
);
print(titles);
const texts = await evaluate<Question, Guess, Pick<Guess, "licence">>(
  createGuesser(known, ["text"]),
  { ...common, experiment: "texts", baseline: titles.experiment.name },
);
print(texts);

// 4. The comparison: what became worse comes first.
const { regressions = [], regressionCount = 0, scores = {} } = texts.comparison ?? {};
for (const [key, { baseline, current, improved, regressed, pValue }] of Object.entries(scores)) {
  console.log(
    `${key}: ${baseline.toFixed(2)} -> ${current.toFixed(2)}, ${improved} better, ${regressed} worse (p = ${pValue.toPrecision(2)})`,
  );
}
console.log(`${regressionCount} regressions${regressionCount > 0 ? ", the worst:" : ""}`);
for (const { exampleId, key, difference } of regressions.slice(0, 3)) {
  const { inputs } = await client.examples.read(exampleId);
  console.log(`  ${key} ${difference}: ${String(inputs["text"]).slice(0, 60)}...`);
}
await client.close();

function print({
  experiment,
  rows,
  resumed,
  scores: means,
  durationMs,
  failed,
}: EvaluationResult<Question, Guess, Pick<Guess, "licence">>): void {
  const shown = Object.entries(means).map(([key, { mean = 0 }]) => `${key} ${mean.toFixed(2)}`);
  console.log(
    `${experiment.name}: ${rows} rows (${resumed} resumed, ${failed} failed), ${shown.join(", ")}, p50 ${durationMs.p50.toFixed(1)} ms`,
  );
  console.log(`  ${experiment.url ?? ""}`);
}
