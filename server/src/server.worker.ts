import { setTimeout as sleep } from "node:timers/promises";
import process from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { messageOf, ServerError } from "./model/errors.ts";
import { createApp } from "./app/app.ts";
import type { App } from "./app/app.ts";
import { memoryDataDir, serverLimits } from "./model/options.ts";
import type { closeRequest, ServerThreadData, ServerThreadMessage } from "./app/server-protocol.ts";
import { exitRequest } from "./app/server-protocol.ts";
import type { Store } from "./store/store.ts";
import { IngestLog } from "./ingest-log/ingest-log.ts";
import { RetentionSweeper } from "./runs/retention/retention-sweeper.ts";
import { openSqliteStore, openTemporaryStore } from "./store/sqlite-store.ts";
import { ServerLog } from "./monitoring/server-log.ts";
import { toDistFileUrl } from "./storage/dist-files.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { openTelemetry as OpenTelemetryFunction } from "./otel.ts";

interface TelemetryModule {
  readonly openTelemetry: typeof OpenTelemetryFunction;
}

// States of the server thread: starting -> listening -> closing -> ended. A failed start ends the thread at once.

if (parentPort !== null) {
  // Do not await this: a chunk of the bundle that is loaded meanwhile imports this module, and would wait for it
  // forever.
  void serve(parentPort, workerData as ServerThreadData);
}

async function serve(port: MessagePort, settings: ServerThreadData): Promise<void> {
  const post = (message: ServerThreadMessage): void => port.postMessage(message);
  let store: Store | undefined;
  let log: IngestLog | undefined;
  let telemetry: Telemetry | undefined;
  // Created before the store, whose threads pass their warnings on to this log.
  const requestLog =
    settings.logFormat === undefined ? undefined : new ServerLog(settings.logFormat);
  try {
    store = await openStore(settings);
    log =
      settings.log &&
      (await IngestLog.open(settings.log, {
        ...(settings.log.writer === "server" && { applied: store }),
        // Only PostgreSQL counts as shared: it may run on other machines, but a SQLite database would be lost with the
        // disk of this machine.
        ...(settings.store !== undefined && { shared: store }),
      }));
    telemetry = await startTelemetry(settings);
    const app = createApp(store, settings, { log, requestLog, telemetry });
    await listen(app, settings);
    const openedStore = store;
    const openedLog = log;
    const openedTelemetry = telemetry;
    const sweeper = settings.jobRunner === "server" ? new RetentionSweeper(store) : undefined;
    port.once("message", (request: typeof closeRequest | typeof exitRequest) => {
      sweeper?.close();
      if (request === exitRequest) {
        openedStore.endReads();
      }
      const closing =
        request === exitRequest
          ? openedStore.close()
          : close(app, openedStore, { log: openedLog, drainMs: settings.drainMs });
      // If closing fails, for example on a full disk, the thread ends anyway: the next start recovers the data from
      // the write-ahead log.
      void closing
        .catch((cause: unknown) =>
          process.emitWarning(`Failed to close the store: ${messageOf(cause)}`),
        )
        .then(() => openedTelemetry?.close())
        .then(() => requestLog?.close())
        .finally(() => {
          Atomics.store(settings.endedFlag, 0, 1);
          Atomics.notify(settings.endedFlag, 0);
          port.close();
          if (openedTelemetry !== undefined) {
            // The packages of OpenTelemetry can't be stopped while they wait for a receiver that does not answer.
            process.exit();
          }
        });
    });
    const { modelEndpoints, apiKeys } = settings;
    const isKeyRequired = apiKeys.length > 0 || (await store.read.tenants.hasKeys());
    post({
      kind: "listening",
      port: readPort(app, settings),
      needsModelToken: modelEndpoints.length > 0 && !isKeyRequired,
      log: log && { address: log.address, replicas: log.replicas },
    });
  } catch (cause) {
    await log?.close();
    await store?.close();
    await telemetry?.close();
    await requestLog?.close();
    const code = cause instanceof ServerError ? cause.code : "THREAD";
    post({ kind: "failed", code, reason: messageOf(cause) });
    port.close();
  }
}

/** Loads the bundle that records spans, if it is needed. */
async function startTelemetry({ otelEndpoint }: ServerThreadData): Promise<Telemetry | undefined> {
  if (otelEndpoint === undefined) {
    return undefined;
  }
  const { openTelemetry } = (await import(toDistFileUrl("otel.js").href)) as TelemetryModule;
  return openTelemetry({ endpoint: otelEndpoint });
}

async function openStore({ dataDir, store, queryTimeoutMs }: ServerThreadData): Promise<Store> {
  const options = { queryTimeoutMs };
  if (store !== undefined) {
    // Loaded only here, so that a server with SQLite starts faster.
    const { openPostgresStore } = await import("./store/postgres/postgres-store.ts");
    return openPostgresStore(store, { dataDir, queryTimeoutMs });
  }
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
      ? `port ${port} is in use; choose another port, or 0 for any free one`
      : reason;
    throw new ServerError("LISTEN", `Failed to listen on ${host}:${port}: ${advice}`, { cause });
  }
}

/**
 * Accepts no new connections, and waits until the open ones have ended, for at most
 * {@link serverLimits.lastRequestsMs}. A connection ends with its next response; an idle one ends now.
 */
async function endConnections({ server }: App): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timeout = new AbortController();
  await Promise.race([
    ended,
    sleep(serverLimits.lastRequestsMs, undefined, { signal: timeout.signal }).catch(
      () => undefined,
    ),
  ]);
  timeout.abort();
}

function readPort(app: App, { port }: ServerThreadData): number {
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/**
 * Closes the server in steps. First it reports that it is not ready, and serves requests for as long as load balancers
 * need to notice that. Then it accepts no new connections and serves what arrives on the open ones. It gives running
 * requests some time, cancels their queries and closes their connections. Pending writes are completed.
 */
async function close(
  app: App,
  store: Store,
  { log, drainMs }: { readonly log: IngestLog | undefined; readonly drainMs: number },
): Promise<void> {
  app.beginDrain();
  if (drainMs > 0) {
    await sleep(drainMs);
  }
  await endConnections(app);
  const queryTimer = setTimeout(() => store.endReads(), serverLimits.endReadsMs);
  const connectionTimer = setTimeout(() => app.server.closeAllConnections(), serverLimits.closeMs);
  await app.close();
  clearTimeout(queryTimer);
  clearTimeout(connectionTimer);
  await log?.close();
  await store.close();
}
