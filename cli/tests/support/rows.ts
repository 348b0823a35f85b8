import { startServer } from "@millrace/server";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "millrace";
import type { Example } from "millrace";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { ended, start } from "./command.ts";
import type { Ended } from "./command.ts";

/** A server, a client of it and a folder, for the tests of a file. */
export interface Desk {
  readonly client: Client;
  readonly endpoint: string;
  /** A new one for each test. */
  readonly dataset: string;
  /** A path in the folder. */
  readonly path: (name: string) => string;
  /** The command, ended. */
  readonly run: (...args: readonly string[]) => Promise<Ended>;
  /** `upload` into the dataset, which is made. */
  readonly upload: (...args: readonly string[]) => Promise<Ended>;
  /** The examples, by the number or text in their inputs. */
  readonly examples: () => Promise<readonly Example[]>;
}

export function rowDesk(): Desk {
  const folder = mkdtempSync(join(tmpdir(), "millrace-rows-"));
  const desk = { dataset: "", count: 0 };
  let client: Client | undefined;
  let server: Awaited<ReturnType<typeof startServer>> | undefined;
  beforeAll(async () => {
    server = await startServer({ port: 0, dataDir: join(folder, "data") });
    client = new Client({ endpoint: server.url });
  });
  beforeEach(() => {
    desk.dataset = `rows ${desk.count++}`;
  });
  afterAll(async () => {
    await client?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const endpoint = (): string => server?.url ?? "";
  const clientOf = (): Client => client ?? new Client({ endpoint: endpoint() });
  const run = (...args: readonly string[]): Promise<Ended> =>
    ended(start(args, { MILLRACE_ENDPOINT: endpoint() }));
  return {
    get client() {
      return clientOf();
    },
    get endpoint() {
      return endpoint();
    },
    get dataset() {
      return desk.dataset;
    },
    path: (name) => join(folder, `${desk.count}-${name}`),
    run,
    upload: (...args) => run("upload", ...args, "--dataset", desk.dataset, "--create"),
    examples: async () => {
      const all = await clientOf().examples.list({ datasetName: desk.dataset }).toArray();
      return all.toSorted((one, other) =>
        JSON.stringify(one.inputs).localeCompare(JSON.stringify(other.inputs)),
      );
    },
  };
}
