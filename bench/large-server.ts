// A server of this checkout, on a large store that fill-sqlite or fill-postgres has filled.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillProjectName } from "./fill-shape.ts";

/** The options by which a bench names the store. */
export const storeOptions = {
  data: { type: "string" },
  store: { type: "string" },
  keys: { type: "string" },
} as const;

export interface LargeStore {
  /** A folder that fill-sqlite has filled. */
  readonly data?: string | undefined;
  /** URL of a database that fill-postgres has filled. */
  readonly store?: string | undefined;
  /** The folder of token.key, if a server has used the database before. */
  readonly keys?: string | undefined;
}

export interface LargeServer {
  readonly url: string;
  readonly pid: number;
  readonly engine: "SQLite" | "PostgreSQL";
  close(): Promise<void>;
}

export async function startLargeServer({ data, store, keys }: LargeStore): Promise<LargeServer> {
  if ((data === undefined) === (store === undefined)) {
    throw new Error("name either --data FOLDER or --store URL");
  }
  const named = data ?? keys;
  const folder = named ?? mkdtempSync(join(tmpdir(), "millrace-large-"));
  const command = join(import.meta.dirname, "../cli/dist/millrace.js");
  const server = spawn(process.execPath, [command, "serve", "--port", "0", "--data", folder], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...(store !== undefined && { MILLRACE_STORE_URL: store }) },
  });
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  return {
    url: /http:\/\/[^\s/]+/.exec(line.toString())?.[0] ?? "",
    pid: server.pid ?? 0,
    engine: store === undefined ? "SQLite" : "PostgreSQL",
    close: async () => {
      server.kill("SIGTERM");
      await once(server, "exit");
      if (named === undefined) {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Finds the project that was filled. */
export async function findFilledProject(
  url: string,
): Promise<{ readonly id: string; readonly tenant_id: string }> {
  const response = await fetch(`${url}/sessions?name=${fillProjectName}`);
  const [project] = (await response.json()) as readonly {
    readonly id: string;
    readonly tenant_id: string;
  }[];
  if (project === undefined) {
    throw new Error(`the store has no project "${fillProjectName}": fill it first`);
  }
  return project;
}
