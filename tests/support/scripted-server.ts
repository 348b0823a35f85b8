import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";

export interface SeenRequests {
  readonly asked: number;
  readonly brokenOff: number;
  readonly names: readonly string[];
}

export interface ScriptedServer {
  readonly endpoint: string;
  /** What it was asked so far. */
  seen(): Promise<SeenRequests>;
}

/** The server of `scripted-server.mjs`; ends with the test. */
export async function scriptedServer(): Promise<ScriptedServer> {
  const worker = new Worker(new URL("scripted-server.mjs", import.meta.url), { execArgv: [] });
  onTestFinished(async () => void (await worker.terminate()));
  const [{ port }] = (await once(worker, "message")) as [{ port: number }];
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    seen: async () => (await (await fetch(`${endpoint}/seen`)).json()) as SeenRequests,
  };
}
