// Evaluates rows one after the other, slowly, and reports each call of the target on a line. Killed by a test.
import { Client } from "millrace";
import { evaluate } from "millrace/evaluation";

const [, , endpoint, journalDir, delayMs = "20", dataset] = process.argv;

async function square({ number }) {
  process.stdout.write(`${number}\n`);
  await new Promise((resolve) => {
    setTimeout(resolve, Number(delayMs));
  });
  return { square: number * number };
}

const client = new Client({ endpoint });
const result = await evaluate(square, {
  data:
    dataset ??
    Array.from({ length: 60 }, (_, number) => ({
      inputs: { number },
      outputs: { square: number * number },
    })),
  evaluators: [
    function isRight({ outputs, referenceOutputs }) {
      return outputs.square === referenceOutputs.square;
    },
  ],
  experiment: "killed",
  concurrency: 4,
  client,
  journalDir,
});
process.stdout.write(
  `result ${JSON.stringify({
    rows: result.rows,
    resumed: result.resumed,
    acknowledged: result.acknowledged,
    unacknowledged: result.unacknowledged,
    scores: result.scores,
    id: result.experiment.id,
    name: result.experiment.name,
    warnings: result.warnings,
  })}\n`,
);
await client.close();
