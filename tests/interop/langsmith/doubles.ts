import { expect } from "vitest";
import { unique } from "./test-server.ts";
import type { OldClient } from "./test-server.ts";

/** Creates a dataset with the numbers from 1, each with its double as output. */
export async function doubles(client: OldClient, count: number) {
  const dataset = await client.createDataset(unique("doubles"), { description: "Twice as much" });
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const examples = await client.createExamples({
    inputs: numbers.map((n) => ({ n })),
    outputs: numbers.map((n) => ({ double: n * 2 })),
    datasetId: dataset.id,
  });
  return { dataset, examples };
}

/** The inputs of examples, in sorted order. */
export const inputsOf = (examples: readonly { readonly inputs: unknown }[]) =>
  new Set(examples.map(({ inputs }) => JSON.stringify(inputs)));

/** Returns a time after everything before the call and before everything after it. Versions are finer than milliseconds. */
export async function betweenVersions(): Promise<Date> {
  await laterThan(Date.now());
  const now = Date.now();
  await laterThan(now);
  return new Date(now);
}

const laterThan = (time: number) =>
  expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(time);
