import { NotFoundError } from "millrace";
import type { Client, Dataset } from "millrace";
import { isId } from "../local-server/server-flags.ts";
import { describeMissing, maxComparedNames } from "./describe-missing.ts";

/**
 * Reads a dataset by its name or id.
 *
 * @throws {@link Error} if it does not exist; the message contains the most similar names.
 */
export async function findDataset(
  client: Client,
  datasetIdOrName: string,
  { hint, signal }: { readonly hint?: string; readonly signal: AbortSignal },
): Promise<Dataset> {
  try {
    return await client.datasets.read(
      isId(datasetIdOrName)
        ? { datasetId: datasetIdOrName, signal }
        : { datasetName: datasetIdOrName, signal },
    );
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) {
      throw cause;
    }
    const datasets = await client.datasets.list({ limit: maxComparedNames, signal }).toArray();
    const names = datasets.map(({ name }) => name);
    throw new Error(describeMissing("dataset", datasetIdOrName, { names, hint }), { cause });
  }
}
