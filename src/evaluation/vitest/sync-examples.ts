import { isDeepStrictEqual } from "node:util";
import { ConflictError, NotFoundError } from "../../main/index.ts";
import type { Client, Dataset, Example, KeyValues } from "../../main/index.ts";

/** An example as the dataset should contain it. */
export interface TestExample {
  readonly id: string;
  readonly inputs: KeyValues;
  readonly outputs?: KeyValues | undefined;
  /** `undefined` keeps the metadata of an existing example. */
  readonly metadata?: KeyValues | undefined;
  /** `undefined` keeps the splits of an existing example. */
  readonly splits?: readonly string[] | undefined;
}

/** Reads the dataset with this name, or creates it. */
export async function openDataset(
  client: Client,
  { name, signal }: { readonly name: string; readonly signal: AbortSignal },
): Promise<Dataset> {
  try {
    return await client.datasets.read({ datasetName: name, signal });
  } catch (error) {
    if (!(error instanceof NotFoundError)) {
      throw error;
    }
  }
  try {
    return await client.datasets.create({ name, signal });
  } catch (error) {
    // Another test file has created the dataset meanwhile.
    if (error instanceof ConflictError) {
      return client.datasets.read({ datasetName: name, signal });
    }
    throw error;
  }
}

/** Arguments of {@link syncExamples}. */
interface Synchronization {
  readonly datasetId: string;
  readonly examples: readonly TestExample[];
  readonly signal: AbortSignal;
}

/** Number of examples that are read with one request. */
const examplesPerRequest = 100;
/**
 * Maximum number of attempts to create examples, because other test files may create the same ones at the same time.
 */
const maxAttempts = 5;

/**
 * Creates the examples that the dataset lacks, and updates the examples that differ. Other examples of the dataset
 * stay.
 */
export async function syncExamples(
  client: Client,
  { datasetId, examples, signal }: Synchronization,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const stored = new Map<string, Example>();
    for (let start = 0; start < examples.length; start += examplesPerRequest) {
      const ids = examples.slice(start, start + examplesPerRequest).map(({ id }) => id);
      for await (const example of client.examples.list({ datasetId, ids, signal })) {
        stored.set(example.id, example);
      }
    }
    const missing = examples.filter(({ id }) => !stored.has(id));
    const changed = examples.filter((example) => {
      const existing = stored.get(example.id);
      return existing !== undefined && differs(example, existing);
    });
    try {
      if (missing.length > 0) {
        await client.examples.createMany({
          datasetId,
          examples: missing.map(({ splits, ...example }) => ({ ...example, split: splits })),
          signal,
        });
      }
    } catch (error) {
      if (isConflict(error) && attempt < maxAttempts) {
        continue;
      }
      throw error;
    }
    if (changed.length > 0) {
      await client.examples.updateMany({
        examples: changed.map(({ splits, outputs = {}, ...example }) => ({
          ...example,
          outputs,
          split: splits,
        })),
        signal,
      });
    }
    return;
  }
}

function differs(example: TestExample, stored: Example): boolean {
  const { inputs, outputs = {}, metadata, splits } = example;
  return !(
    isDeepStrictEqual(inputs, stored.inputs) &&
    isDeepStrictEqual(outputs, stored.outputs ?? {}) &&
    (metadata === undefined || isDeepStrictEqual(metadata, stored.metadata)) &&
    (splits === undefined || isDeepStrictEqual(splits.toSorted(), stored.splits.toSorted()))
  );
}

/**
 * Whether an error means that an example exists already. The error of a call with several requests contains the error
 * of the first failed request as its cause.
 */
const isConflict = (error: unknown): boolean =>
  error instanceof ConflictError ||
  (error instanceof Error && error.cause instanceof ConflictError);
