import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@millrace/server";
import { Client } from "millrace";
import { onTestFinished } from "vitest";

/** An empty server with a client, and an empty folder to run the command in. */
export interface OwnServer {
  readonly url: string;
  readonly client: Client;
  readonly folder: string;
}

/** Starts servers that end with their test. */
export const useOwnServers = (): { readonly start: () => Promise<OwnServer> } => ({
  start: async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-import-"));
    const server = await startServer({ port: 0, dataDir: ":memory:" });
    const client = new Client({ endpoint: server.url });
    onTestFinished(async () => {
      await client.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return { url: server.url, client, folder };
  },
});
