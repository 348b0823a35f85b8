import { NotFoundError } from "millrace";
import type { Client, Dataset } from "millrace";
import { nearest } from "../nearest.ts";
import { isId } from "../local-server/server-flags.ts";

/** Names that are compared with the one that is not there. */
const namesRead = 500;

/** Reads a dataset by its name or id. @throws {@link Error} it does not exist; the message has the nearest names. */
export async function findDataset(
  client: Client,
  dataset: string,
  { hint, signal }: { readonly hint?: string; readonly signal: AbortSignal },
): Promise<Dataset> {
  try {
    return await client.datasets.read(
      isId(dataset) ? { datasetId: dataset, signal } : { datasetName: dataset, signal },
    );
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) {
      throw cause;
    }
    const names = await readNames(client, signal);
    const near = nearest(dataset, names).map((name) => JSON.stringify(name));
    const parts = [
      `there is no dataset ${isId(dataset) ? "with the id " : ""}${JSON.stringify(dataset)}`,
      ...(near.length === 0 ? [] : [`did you mean ${near.join(" or ")}?`]),
      ...(hint === undefined ? [] : [hint]),
    ];
    throw new Error(parts.join("; "), { cause });
  }
}

async function readNames(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of client.datasets.list({ limit: namesRead, signal })) {
    names.push(name);
  }
  return names;
}
