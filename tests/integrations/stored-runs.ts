import { onTestFinished } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { Client } from "../../src/main/index.ts";
import type { ClientOptions, Run } from "../../src/main/index.ts";

/** A client of a server that holds nothing yet, and the runs that are stored there. */
export interface StoredRuns {
  readonly client: Client;
  /** Sends what was recorded, and returns the runs in the order of their starts. */
  readonly read: () => Promise<readonly Run[]>;
  /** As `read`, but throws if there is not exactly one run. */
  readonly readOnly: () => Promise<Run>;
}

/** Starts a server, and a client that sends to it from a worker, both until the test ends. */
export async function storeRuns(options: ClientOptions = {}): Promise<StoredRuns> {
  const { url } = await runServer();
  const client = new Client({ endpoint: url, logger: { warn: () => undefined }, ...options });
  onTestFinished(async () => void (await client.close()));
  const read = async (): Promise<readonly Run[]> => {
    await client.flush();
    return client.runs.list({ projectNames: ["default"], order: "asc" }).toArray();
  };
  return {
    client,
    read,
    readOnly: async () => {
      const runs = await read();
      const [run] = runs;
      if (run === undefined || runs.length > 1) {
        throw new Error(`${runs.length} runs are stored: ${runs.map(({ name }) => name).join()}`);
      }
      return run;
    },
  };
}

/** The names of a run's events. */
export const eventNamesOf = ({ events }: Run): readonly unknown[] =>
  (events ?? []).map((event) => (event as { readonly name: unknown }).name);

/** What was not understood of a run's request and response. */
export const warningsOf = ({ extra }: Run): unknown =>
  extra?.metadata?.["millrace_exchange_warnings"];
