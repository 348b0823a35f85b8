import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { onTestFinished } from "vitest";

/** The measurements of a poller. */
export interface Polled {
  readonly polls: number;
  /** Longest wait for a response in milliseconds, without the time in which the machine did not run the server. */
  readonly worstMs: number;
  /** The same including that time. */
  readonly worstWithWaitsMs: number;
  /** Number of responses by status; errors by their text. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface InfoPoller {
  /** Stops the poller after the current request. */
  stop(): Promise<Polled>;
}

interface PolledServer {
  readonly url: string;
}

/**
 * Requests `/info` every 20 ms from a worker thread until stopped; if the server's HTTP thread is blocked, a request
 * waits long. Only for servers in this process; call it while the server is idle.
 */
export const pollInfo = (server: PolledServer): Promise<InfoPoller> =>
  start({ url: server.url, method: "GET", path: "/info", headers: {}, threadCount: 1 });

/** The same for a small write; each request creates a new run. */
export const pollWrites = (
  server: PolledServer,
  headers: Readonly<Record<string, string>> = {},
): Promise<InfoPoller> =>
  start({ url: server.url, method: "POST", path: "/runs", headers, threadCount: 2, body: run });

/** Polls while some work runs; returns both results. */
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
  /** Number of server threads that a request needs one after the other. */
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
