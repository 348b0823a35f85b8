import { onTestFinished } from "vitest";
import { runServer, temporaryFolder } from "../../server/tests/support/running-server.ts";
import { Client } from "../../src/main/index.ts";

/** A client of a new tenant, and a folder for journals. */
export interface Setup {
  readonly client: Client;
  readonly journalDir: string;
  readonly url: string;
}

/** Opens a client that is closed after the test. */
export async function openClient(): Promise<Setup> {
  const { url } = await runServer();
  const client = new Client({ endpoint: url });
  onTestFinished(async () => {
    await client.close();
  });
  return { client, journalDir: await temporaryFolder(), url };
}

/** Creates a dataset of sums: `a + 1`, in the splits `even` and `odd`. Returns its name. */
export async function createSums(client: Client, count = 4): Promise<string> {
  const name = `sums ${crypto.randomUUID()}`;
  await client.datasets.create({ name });
  await client.examples.createMany({
    datasetName: name,
    examples: Array.from({ length: count }, (_, index) => ({
      inputs: { a: index, b: 1 },
      outputs: { sum: index + 1 },
      split: index % 2 === 0 ? "even" : "odd",
    })),
  });
  return name;
}

export interface Sum {
  readonly sum: number;
}

/** A target that is right. */
export const add = ({ a, b }: { readonly a: number; readonly b: number }): Sum => ({ sum: a + b });

/** An evaluator of sums. */
export const isRight = ({
  outputs,
  referenceOutputs,
}: {
  readonly outputs: Sum;
  readonly referenceOutputs: Sum;
}): boolean => outputs.sum === referenceOutputs.sum;

/** All items of an iterable. */
export async function toArray<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const array: Item[] = [];
  for await (const item of items) {
    array.push(item);
  }
  return array;
}

/** A promise of an evaluation, which `expect` accepts. */
export async function settle(evaluation: PromiseLike<unknown>): Promise<void> {
  await evaluation;
}
