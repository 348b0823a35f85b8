import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf, ServerError } from "./model/errors.ts";
import { createApp } from "./app/app.ts";
import type { App } from "./app/app.ts";
import { memoryDataDir, serverLimits } from "./model/options.ts";
import type { closeRequest, ServerThreadData, ServerThreadMessage } from "./app/server-protocol.ts";
import { leaveRequest } from "./app/server-protocol.ts";
import type { Store } from "./store/store.ts";
import { Sweeper } from "./runs/retention/retention-sweeper.ts";
import { openSqliteStore, openTemporaryStore } from "./store/sqlite-store.ts";

// starting -> listening -> closing -> ended; a failure to start ends it at once.

if (parentPort !== null) {
  await serve(parentPort, workerData as ServerThreadData);
}

async function serve(port: MessagePort, settings: ServerThreadData): Promise<void> {
  const say = (message: ServerThreadMessage): void => port.postMessage(message);
  let store: Store | undefined;
  try {
    store = await openStore(settings);
    const app = createApp(store, settings);
    await listen(app, settings);
    const opened = store;
    const sweeper = new Sweeper(store);
    port.once("message", (request: typeof closeRequest | typeof leaveRequest) => {
      sweeper.end();
      if (request === leaveRequest) {
        opened.endReads();
      }
      const closing = request === leaveRequest ? opened.close() : close(app, opened);
      // What can't be closed properly, on a full disk say, ends with the thread: the log is taken in at the next start.
      void closing
        .catch((cause: unknown) => process.emitWarning(`closing failed: ${messageOf(cause)}`))
        .finally(() => {
          Atomics.store(settings.ended, 0, 1);
          Atomics.notify(settings.ended, 0);
          port.close();
        });
    });
    say({ kind: "listening", port: portOf(app, settings) });
  } catch (cause) {
    await store?.close();
    const code = cause instanceof ServerError ? cause.code : "THREAD";
    say({ kind: "failed", code, reason: messageOf(cause) });
    port.close();
  }
}

function openStore({ dataDir, queryTimeoutMs }: ServerThreadData): Promise<Store> {
  const options = { queryTimeoutMs };
  return dataDir === memoryDataDir
    ? openTemporaryStore(options)
    : openSqliteStore(dataDir, options);
}

async function listen(app: App, { host, port }: ServerThreadData): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const reason = messageOf(cause);
    const advice = reason.includes("EADDRINUSE")
      ? `port ${port} is taken; choose another, or 0 for any free one`
      : reason;
    throw new ServerError("LISTEN", `Failed to listen on ${host}:${port}: ${advice}`, { cause });
  }
}

function portOf(app: App, { port }: ServerThreadData): number {
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Requests under way are answered, for a while, then their queries are ended; what they brought is written. */
async function close(app: App, store: Store): Promise<void> {
  const ending = setTimeout(() => store.endReads(), serverLimits.endReadsMs);
  const closing = setTimeout(() => app.server.closeAllConnections(), serverLimits.closeMs);
  await app.close();
  clearTimeout(ending);
  clearTimeout(closing);
  await store.close();
}
