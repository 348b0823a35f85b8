import { Worker } from "node:worker_threads";
import { toDistFileUrl } from "./storage/dist-files.ts";
import { ServerError } from "./model/errors.ts";
import { parseServerOptions, serverLimits } from "./model/options.ts";
import type { ServerOptions } from "./model/options.ts";
import { createModelToken } from "./models/model-token.ts";
import { closeRequest, exitRequest } from "./app/server-protocol.ts";
import type { OpenedLog } from "./ingest-log/log-report.ts";
import type { ServerThreadData, ServerThreadMessage } from "./app/server-protocol.ts";
import { endThread, threadOptions, waitForFirstMessage, waitForExit } from "./storage/threads.ts";

/** A running server. */
export interface RunningServer {
  /** URL at which the server listens, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** The URL at which clients reach the server, from the option `publicUrl`. */
  readonly publicUrl: string | undefined;
  /**
   * The token that the UI asks for before it calls models; `undefined` if the server has no model endpoints, or
   * requires a key. Each start creates a new token.
   */
  readonly modelToken: string | undefined;
  /** Where runs are stored before they reach the database; `undefined` without the option `log`. */
  readonly log: OpenedLog | undefined;
  /**
   * Completes the writes of all requests received, then releases the port, the files and the threads. May be called
   * twice.
   */
  close(): Promise<void>;
}

/**
 * Starts the local server in a worker thread, so that the calling thread may block while it waits for a response.
 * Keeps the process alive until {@link RunningServer.close}. If the process exits without calling it, the exit waits
 * up to ten seconds until the store is closed.
 *
 * @throws OptionError an option is out of range, or the server would be reachable from the network without an API
 * key.
 * @throws {@link ServerError} the port is in use, the data folder can't be used, or the log can't be reached.
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const settings = parseServerOptions(options);
  const modelToken = createModelToken();
  const endedFlag = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(toDistFileUrl("server.worker.js"), {
    ...threadOptions,
    name: "millrace-server",
    workerData: { ...settings, modelToken, endedFlag } satisfies ServerThreadData,
  });
  const { port, needsModelToken, log } = await waitForStart(worker);
  // Without a listener, an error of the worker would end the host program.
  worker.on("error", (cause) =>
    process.emitWarning(`The Millrace server ended because of an error: ${String(cause)}`),
  );
  const closeAtExit = (): void => {
    worker.postMessage(exitRequest);
    Atomics.wait(endedFlag, 0, 0, exitWaitMs);
  };
  // At exit Node terminates all threads, and terminating one in which SQLite runs may crash the process.
  process.once("exit", closeAtExit);
  worker.once("exit", () => process.off("exit", closeAtExit));
  let closed: Promise<void> | undefined;
  return {
    port,
    log,
    modelToken: needsModelToken ? modelToken : undefined,
    url: `${settings.tls === undefined ? "http" : "https"}://${toUrlHost(settings.host)}:${port}`,
    publicUrl: settings.publicUrl?.url,
    close: () => (closed ??= endThread(worker, closeRequest, settings.drainMs + serverEndMs)),
  };
}

async function waitForStart(worker: Worker): Promise<ListeningMessage> {
  const firstMessage = (await waitForFirstMessage(
    worker,
    closeRequest,
    serverLimits.conversionMs,
  )) as ServerThreadMessage;
  if (firstMessage.kind === "listening") {
    return firstMessage;
  }
  // After a failed start the thread closes its files and ends by itself.
  await waitForExit(worker);
  throw new ServerError(firstMessage.code, firstMessage.reason);
}

type ListeningMessage = Extract<ServerThreadMessage, { readonly kind: "listening" }>;

/**
 * Milliseconds for which the exit of the process is delayed, so that a server that was not closed can close its
 * database.
 */
const exitWaitMs = 10_000;

/**
 * Milliseconds from the request to close until the server thread is terminated. While closing, the thread waits in turn
 * for requests, for the reader threads and for the writer thread, so this limit is longer than the limits of these
 * waits together.
 */
const serverEndMs =
  serverLimits.lastRequestsMs +
  serverLimits.closeMs +
  serverLimits.readerEndMs +
  2 * serverLimits.endMs;

/** A host name that a client on this machine can use. */
function toUrlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") {
    return "127.0.0.1";
  }
  return host.includes(":") ? `[${host}]` : host;
}
