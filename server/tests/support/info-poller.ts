import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";

/** What a poller saw. */
export interface Polled {
  readonly polls: number;
  /** Longest wait for an answer, less the time in which the machine ran something else than the server. */
  readonly worstMs: number;
  /** The same with that time. */
  readonly worstWithWaitsMs: number;
  /** How often each status came; an error by its text. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface InfoPoller {
  /** Ends it after the request that is under way. */
  stop(): Promise<Polled>;
}

interface PolledServer {
  readonly url: string;
}

/**
 * Asks for `/info` every 20 ms, from a thread of its own, until stopped: what holds the server's HTTP
 * thread shows as a long wait. Only for servers of this process; call it while the server has nothing to do.
 */
export const pollInfo = (server: PolledServer): Promise<InfoPoller> =>
  start({ url: server.url, method: "GET", path: "/info", headers: {}, threadCount: 1 });

/** The same for a small write: a run of its own each time. */
export const pollWrites = (
  server: PolledServer,
  headers: Readonly<Record<string, string>> = {},
): Promise<InfoPoller> =>
  start({ url: server.url, method: "POST", path: "/runs", headers, threadCount: 2, body: run });

/** Polls beside some work; what came of both. */
export async function pollBeside<Result>(
  server: PolledServer,
  work: () => Promise<Result>,
): Promise<{ readonly info: Polled; readonly result: Result }> {
  const poller = await pollInfo(server);
  try {
    const result = await work();
    return { info: await poller.stop(), result };
  } catch (cause) {
    await poller.stop();
    throw cause;
  }
}

const run = JSON.stringify({
  id: "%id%",
  trace_id: "%id%",
  dotted_order: "20260101T000000000000Z%id%",
  name: "poll",
  run_type: "chain",
  start_time: "2026-01-01T00:00:00.000Z",
  inputs: {},
  session_name: "polled",
});

interface Poll extends PolledServer {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Threads of the server that a request needs, one after the other. */
  readonly threadCount: number;
  readonly body?: string;
}

async function start(poll: Poll): Promise<InfoPoller> {
  const worker = new Worker(new URL("poll.worker.mjs", import.meta.url), {
    workerData: { ...poll, everyMs: 20 },
  });
  onTestFinished(async () => {
    await worker.terminate();
  });
  await once(worker, "message");
  let stopped: Promise<Polled> | undefined;
  return {
    stop: () => {
      stopped ??= once(worker, "message").then(([result]) => result as Polled);
      worker.postMessage("stop");
      return stopped;
    },
  };
}
