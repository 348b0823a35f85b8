import { startServer } from "@millrace/server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Example } from "millrace";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { ended, start } from "./command.ts";
import type { CommandResult } from "./command.ts";

/** A server with a client and a folder, shared by the tests of a file. */
export interface RowFixture {
  readonly client: Client;
  readonly endpoint: string;
  /** A new dataset name for each test. */
  readonly dataset: string;
  /** Returns a path in the folder. */
  readonly path: (name: string) => string;
  /** Runs the command and waits until it has exited. */
  readonly run: (...args: readonly string[]) => Promise<CommandResult>;
  /** Runs `upload` into the dataset, which is created. */
  readonly upload: (...args: readonly string[]) => Promise<CommandResult>;
  /** Reads the examples, sorted by the JSON of their inputs. */
  readonly examples: () => Promise<readonly Example[]>;
}

export function useRowFixture(): RowFixture {
  const folder = mkdtempSync(join(tmpdir(), "millrace-rows-"));
  const fixture = { dataset: "", count: 0 };
  let client: Client | undefined;
  let server: Awaited<ReturnType<typeof startServer>> | undefined;
  beforeAll(async () => {
    server = await startServer({ port: 0, dataDir: join(folder, "data") });
    client = new Client({ endpoint: server.url });
  });
  beforeEach(() => {
    fixture.dataset = `rows ${fixture.count++}`;
  });
  afterAll(async () => {
    await client?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const endpoint = (): string => server?.url ?? "";
  const clientOf = (): Client => client ?? new Client({ endpoint: endpoint() });
  const run = (...args: readonly string[]): Promise<CommandResult> =>
    ended(start(args, { MILLRACE_ENDPOINT: endpoint() }));
  return {
    get client() {
      return clientOf();
    },
    get endpoint() {
      return endpoint();
    },
    get dataset() {
      return fixture.dataset;
    },
    path: (name) => join(folder, `${fixture.count}-${name}`),
    run,
    upload: (...args) => run("upload", ...args, "--dataset", fixture.dataset, "--create"),
    examples: async () => {
      const all = await clientOf().examples.list({ datasetName: fixture.dataset }).toArray();
      return all.toSorted((one, other) =>
        JSON.stringify(one.inputs).localeCompare(JSON.stringify(other.inputs)),
      );
    },
  };
}
