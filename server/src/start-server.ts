import { Worker } from "node:worker_threads";
import { distFile } from "./storage/dist-files.ts";
import { ServerError } from "./model/errors.ts";
import { parseServerOptions, serverLimits } from "./model/options.ts";
import type { ServerOptions } from "./model/options.ts";
import { closeRequest, leaveRequest } from "./app/server-protocol.ts";
import type { ServerThreadData, ServerThreadMessage } from "./app/server-protocol.ts";
import { endThread, threadOptions, waitForFirstMessage, whenEnded } from "./storage/threads.ts";

/** A server that listens. */
export interface RunningServer {
  /** Its address, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Writes what was received, then gives back the port, the files and the threads. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the local server in a thread of its own, so that the caller's thread may block while it waits
 * for an answer. Keeps the process alive until {@link RunningServer.close}; where the process ends by itself before, its
 * end waits for the store to be closed, ten seconds at the most.
 *
 * @throws OptionError an option is out of range, or the server would be open to the network without a key.
 * @throws {@link ServerError} the port is taken, or the data folder can't be used.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = parseServerOptions(options);
  const ended = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(distFile("server.worker.js"), {
    ...threadOptions,
    name: "millrace-server",
    workerData: { ...settings, ended } satisfies ServerThreadData,
  });
  const port = await waitForPort(worker);
  // A listener always: an error that none takes would end the host program.
  worker.on("error", (cause) => process.emitWarning(`the millrace server ended: ${String(cause)}`));
  const leave = (): void => {
    worker.postMessage(leaveRequest);
    Atomics.wait(ended, 0, 0, leaveMs);
  };
  // The end of the process would terminate the threads, some of which SQLite may work in.
  process.once("exit", leave);
  worker.once("exit", () => process.off("exit", leave));
  let closing: Promise<void> | undefined;
  return {
    port,
    url: `http://${urlHost(settings.host)}:${port}`,
    close: () => (closing ??= endThread(worker, closeRequest, serverEndMs)),
  };
}

async function waitForPort(worker: Worker): Promise<number> {
  const first = (await waitForFirstMessage(worker, closeRequest)) as ServerThreadMessage;
  if (first.kind === "listening") {
    return first.port;
  }
  // What failed to start has closed what it had open, and ends by itself.
  await whenEnded(worker);
  throw new ServerError(first.code, first.reason);
}

/** Longest time that the end of the process waits for a server that was not closed. */
const leaveMs = 10_000;

/** Its own threads have to end before: requests under way, then readers, then the writer. */
const serverEndMs = serverLimits.closeMs + serverLimits.readerEndMs + 2 * serverLimits.endMs;

/** An address that a client on this machine can use. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") {
    return "127.0.0.1";
  }
  return host.includes(":") ? `[${host}]` : host;
}
