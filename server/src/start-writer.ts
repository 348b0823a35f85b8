import process from "node:process";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { OptionError } from "millrace/model";
import { unusedCompilers } from "./app/unused-compilers.ts";
import { addDrain } from "./http/drain.ts";
import { addSerializers } from "./http/serializer-compiler.ts";
import { addValidators } from "./http/validation/validator-compiler.ts";
import { IngestLog } from "./ingest-log/ingest-log.ts";
import { JobRunner } from "./jobs/job-runner.ts";
import { messageOf, RequestError, ServerError } from "./model/errors.ts";
import { parseLogUrl } from "./model/log-target.ts";
import { parseStoreUrl } from "./model/store-url.ts";
import { addHealthRoutes, addMetricRoute } from "./monitoring/monitoring-routes.ts";
import { ServerMetrics } from "./monitoring/server-metrics.ts";
import { createStoreJobKinds } from "./app/store-job-kinds.ts";
import { RetentionSweeper } from "./runs/retention/retention-sweeper.ts";
import { openPostgresStore } from "./store/postgres/postgres-store.ts";
import type { Store } from "./store/store.ts";

/** Options of a writer: a process that stores the runs of the ingest log in the database, and performs jobs. */
export interface WriterOptions {
  /** URL of the PostgreSQL database in which runs are stored, as for a server. */
  readonly store: string;
  /** Address of the ingest log, as for a server. Without it, only jobs are performed. @defaultValue none */
  readonly log?: string;
  /** Folder with the `token.key` that all servers of the database share. @defaultValue "./.millrace" */
  readonly dataDir?: string;
  /**
   * Port on which `/health/live`, `/health/ready` and `/metrics` are answered without a key; 0 picks a free one.
   * @defaultValue none
   */
  readonly port?: number;
  /** Host name or address to listen on. @defaultValue "127.0.0.1" */
  readonly host?: string;
}

/** A writer that {@link startWriter} has started. It stores the runs of the ingest log, and performs jobs. */
export interface RunningWriter {
  /** The address of the log, without credentials; `undefined` without the option `log`. */
  readonly log: string | undefined;
  /** The port of the health checks and metrics; `undefined` without the option `port`. */
  readonly port: number | undefined;
  /**
   * Completes the transactions that have begun, and returns all other messages to the log. Other processes continue the
   * jobs. May be called twice.
   */
  close(): Promise<void>;
}

/** Milliseconds between searches for jobs. A writer finds new jobs only by searching for them. */
const jobPollMs = 2_000;

/**
 * Starts a writer in this process: it stores the runs of the ingest log in PostgreSQL, performs jobs that need nothing
 * but the database, and deletes expired runs. Any number of writers may run, in any number of processes.
 *
 * @throws OptionError an option is malformed.
 * @throws ServerError the database or the log can't be used, or the port is in use.
 */
export async function startWriter(options: WriterOptions): Promise<RunningWriter> {
  const { dataDir = "./.millrace", port, host = "127.0.0.1" } = options;
  parseStoreUrl(options.store);
  const target = options.log === undefined ? undefined : parseLogUrl(options.log);
  assertPort(port);
  // A writer must not lead: the leader runs rules, alerts and webhooks, which only a server can do.
  const store = await openPostgresStore(options.store, { dataDir, canLead: false });
  let log: IngestLog | undefined;
  let app: FastifyInstance | undefined;
  const runner = createRunner(store);
  const sweeper = new RetentionSweeper(store);
  const close = async (): Promise<void> => {
    await app?.close();
    sweeper.close();
    await runner.close();
    await log?.close();
    await store.close();
  };
  try {
    log = target && (await IngestLog.openWriter(target, store));
    app = port === undefined ? undefined : await listen({ store, log }, { port, host });
  } catch (cause) {
    await close();
    throw cause;
  }
  runner.start();
  const address = app?.server.address();
  let closed: Promise<void> | undefined;
  return {
    log: log?.address,
    port: typeof address === "object" && address !== null ? address.port : undefined,
    close: () => (closed ??= close()),
  };
}

function createRunner(store: Store): JobRunner {
  const kinds = createStoreJobKinds(store.forClient("job"));
  return new JobRunner(store, new Map(kinds.map((kind) => [kind.name, kind])), {
    kinds: "given",
    pollMs: jobPollMs,
  });
}

function assertPort(port: number | undefined): void {
  if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65_535)) {
    throw new OptionError(`port must be a whole number from 0 to 65535, not ${String(port)}`);
  }
}

/** Serves health checks and metrics to the programs that monitor the writer. */
async function listen(
  { store, log }: { readonly store: Store; readonly log: IngestLog | undefined },
  { port, host }: { readonly port: number; readonly host: string },
): Promise<FastifyInstance> {
  const app = fastify({
    forceCloseConnections: true,
    schemaController: { compilersFactory: unusedCompilers },
  });
  addSerializers(app);
  addValidators(app);
  app.setErrorHandler((cause: Error, _request, reply) =>
    reply
      .code(cause instanceof RequestError ? cause.status : 500)
      .send({ detail: cause instanceof RequestError ? cause.message : "internal error" }),
  );
  addDrain(app);
  addHealthRoutes(app, store, log);
  addMetricRoute(app, new ServerMetrics(store, log));
  try {
    await app.listen({ port, host });
  } catch (cause) {
    await app.close().catch((failure: unknown) => process.emitWarning(messageOf(failure)));
    throw new ServerError("LISTEN", `Failed to listen on ${host}:${port}: ${messageOf(cause)}`, {
      cause,
    });
  }
  return app;
}
