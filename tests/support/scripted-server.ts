import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";

export interface RequestCounts {
  readonly received: number;
  readonly aborted: number;
  readonly names: readonly string[];
}

export interface ScriptedServer {
  readonly endpoint: string;
  /** Counts the requests received so far. */
  requestCounts(): Promise<RequestCounts>;
}

/** Starts the server of `scripted-server.mjs`, which is terminated when the test ends. */
export async function scriptedServer(): Promise<ScriptedServer> {
  const worker = new Worker(new URL("scripted-server.mjs", import.meta.url), { execArgv: [] });
  onTestFinished(async () => void (await worker.terminate()));
  const [{ port }] = (await once(worker, "message")) as [{ port: number }];
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    requestCounts: async () => (await (await fetch(`${endpoint}/seen`)).json()) as RequestCounts,
  };
}
