import { NotFoundError } from "millrace";
import type { Client, Dataset } from "millrace";
import { findSimilarNames } from "../similar-names.ts";
import { isId } from "../local-server/server-flags.ts";

/** Maximum number of existing names to compare with a name that was not found. */
const maxNames = 500;

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
    const names = await readNames(client, signal);
    const similarNames = findSimilarNames(datasetIdOrName, names).map((name) =>
      JSON.stringify(name),
    );
    const messageParts = [
      `there is no dataset ${isId(datasetIdOrName) ? "with the id " : ""}${JSON.stringify(datasetIdOrName)}`,
      ...(similarNames.length === 0 ? [] : [`did you mean ${similarNames.join(" or ")}?`]),
      ...(hint === undefined ? [] : [hint]),
    ];
    throw new Error(messageParts.join("; "), { cause });
  }
}

async function readNames(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of client.datasets.list({ limit: maxNames, signal })) {
    names.push(name);
  }
  return names;
}
