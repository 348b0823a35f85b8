import type { IncomingMessage } from "node:http";
import { Server as HttpsServer } from "node:https";
import { tmpdir } from "node:os";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import fastify from "fastify";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { AuditPruner } from "../audit/audit-pruner.ts";
import { addUiAuditRoutes } from "../audit/audit-routes.ts";
import type { IngestDependencies, RunReceiver } from "../runs/handlers/ingest-handlers.ts";
import { addWebPages } from "./web-pages.ts";
import { memoryDataDir, serverLimits } from "../model/options.ts";
import { CallRate } from "../models/call-rate.ts";
import { ModelAccess } from "../models/model-access.ts";
import { ModelCaller } from "../models/model-caller.ts";
import { ModelKeys } from "../models/model-keys.ts";
import { addModelRoutes } from "../models/model-routes.ts";
import { OutboundTransport } from "../models/outbound-transport.ts";
import type { AppSettings } from "./server-protocol.ts";
import { addAnnotationQueueRoutes } from "../queues/annotation-queue-routes.ts";
import { addUiCommentRoutes } from "../comments/comment-routes.ts";
import { addComparativeRoutes, addDatasetRunRoutes } from "../experiments/comparative-routes.ts";
import { addFeedbackRoutes, addSubmittedFeedbackRoutes } from "../feedback/feedback-routes.ts";
import { addOtlpRoutes, describeSpansPath } from "../otlp/otlp-routes.ts";
import { addProjectRoutes } from "../projects/project-routes.ts";
import { addPriceRoutes } from "../prices/price-routes.ts";
import { addPromptRoutes } from "../prompts/prompt-routes.ts";
import { addDatasetVersionRoutes } from "../datasets/dataset-version-routes.ts";
import {
  addDatasetRoutes,
  addDatasetSearchRoutes,
  addSharedDatasetRoutes,
  addUploadRoutes,
} from "../datasets/dataset-routes.ts";
import { addExampleRoutes, addExampleWriteRoutes } from "../datasets/examples/example-routes.ts";
import {
  addAttachmentRoutes,
  addIngestRoutes,
  addRunRoutes,
  addSharedRunRoutes,
} from "../runs/run-routes.ts";
import { addInfoRoutes, addSettingsRoutes } from "./server-routes.ts";
import { addUiAnnotationQueueRoutes } from "../queues/queue-review-routes.ts";
import { addLiveRoutes } from "../live/live-routes.ts";
import { addUiFeedbackRoutes, addUiFeedbackFormRoutes } from "../feedback/ui-feedback-routes.ts";
import { addSharedV2Routes, addV2Routes } from "../v2/v2-routes.ts";
import { limitRequest } from "../tenants/limit-requests.ts";
import { ByteQuota } from "../tenants/byte-quota.ts";
import { DailyIngest } from "../tenants/daily-ingest.ts";
import { RunQuota } from "../tenants/run-quota.ts";
import { TenantLimits } from "../tenants/tenant-limits.ts";
import { isOperator } from "../tenants/settings-handlers.ts";
import { addUiSettingsRoutes } from "../tenants/settings-routes.ts";
import { addUiDatasetRoutes, addUiImportRoutes } from "../datasets/ui-dataset-routes.ts";
import { addUiTraceRoutes } from "../runs/trace-routes.ts";
import { addUiSharedTraceRoutes } from "../shares/shared-trace-routes.ts";
import { addUiTraceShareRoutes } from "../shares/trace-share-routes.ts";
import { RunExports } from "../run-actions/export-runs.ts";
import { addUiRunDownloadRoute, addUiRunExportRoute } from "../run-actions/export-routes.ts";
import { addUiRunRoutes } from "../runs/ui-run-routes.ts";
import { JobRunner } from "../jobs/job-runner.ts";
import { addLaunchRoutes } from "../experiments/launch/launch-routes.ts";
import { addUiJobRoutes } from "../jobs/job-routes.ts";
import type { AnyJobKind } from "../jobs/job-kind.ts";
import { createJobKinds, createServerJobKinds } from "./job-kinds.ts";
import type { Store } from "../store/store.ts";
import { addUiMetricRoutes } from "../metrics/metric-routes.ts";
import { addUiThreadRoutes } from "../threads/thread-routes.ts";
import { addViewRoutes } from "../views/view-routes.ts";
import { addUiAlertRoutes } from "../alerts/alert-routes.ts";
import { addUiRuleRoutes } from "../rules/rule-routes.ts";
import { addUiWebhookRoutes } from "../webhooks/webhook-routes.ts";
import { Automation } from "./automation.ts";
import { WorkThreads } from "../storage/work-threads.ts";
import { addApiDocs } from "./api-docs.ts";
import { unusedCompilers } from "./unused-compilers.ts";
import { addBaseUrl, createUrlRewriter } from "../http/base-url.ts";
import { readTlsContext, TlsReloader } from "../http/tls.ts";
import { addDrain } from "../http/drain.ts";
import { addRequestIds, readRequestId } from "../http/request-id.ts";
import { addValidators } from "../http/validation/validator-compiler.ts";
import { closeUnread } from "../http/close-unread.ts";
import { JsonBoundsCheck } from "../bodies/json-bounds.ts";
import {
  addHealthRoutes,
  addMetricRoute,
  observeRequests,
} from "../monitoring/monitoring-routes.ts";
import type { ServerLog } from "../monitoring/server-log.ts";
import { recordRequests } from "../telemetry/request-spans.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { traceJobKind, TracedStore, traceLog } from "../telemetry/traced-store.ts";
import { ServerMetrics } from "../monitoring/server-metrics.ts";
import type { ObservedLog } from "../monitoring/server-metrics.ts";
import { KeyGuard } from "../tenants/key-guard.ts";
import { joinChunks, readChunks } from "../bodies/read-body.ts";
import { SignedLinks } from "../http/signed-links.ts";
import { addSafeHeaders, addProtocolErrorHandlers, sendParserError } from "../http/safe-headers.ts";
import { SourceGuard } from "../http/source-guard.ts";
import { addSerializers } from "../http/serializer-compiler.ts";

/** The HTTP application that {@link createApp} creates. */
export type App = ReturnType<typeof createApp>;

/** Parts of the application that not every server has. */
export interface AppParts {
  /** The kinds of jobs to perform instead of those of the server. */
  readonly jobKinds?: readonly AnyJobKind[];
  /** The ingest log, which receives the runs that clients send. Runs that the server itself creates bypass it. */
  readonly log?: (RunReceiver & ObservedLog) | undefined;
  /** Records spans of what the server itself does. @defaultValue none */
  readonly telemetry?: Telemetry | undefined;
  /** The log to which requests are written. @defaultValue none */
  readonly requestLog?: ServerLog | undefined;
}

/**
 * Creates the HTTP application: guards, routes and error handling. It does not listen yet. When it is ready, it begins
 * to perform stored jobs, to apply rules, to evaluate alerts and to send webhooks.
 */
export function createApp(
  plainStore: Store,
  settings: AppSettings,
  { jobKinds, log, requestLog, telemetry }: AppParts = {},
) {
  const store =
    telemetry === undefined
      ? plainStore
      : new TracedStore(
          plainStore,
          telemetry,
          settings.store === undefined ? "sqlite" : "postgresql",
        );
  const sourceGuard = new SourceGuard(settings);
  const keyGuard = new KeyGuard(settings, store);
  const workThreads = new WorkThreads();
  const metrics = new ServerMetrics(store, log, telemetry);
  const dependencies = { store, links: new SignedLinks(Date.now, store.linkSecret) };
  const models = createModels(store, settings, keyGuard);
  const judging = { models: models.caller, workThreads };
  const launch = { store: store.forClient("job"), ...judging };
  const kinds = toKindMap(jobKinds ?? createJobKinds(launch), telemetry);
  const runner =
    settings.jobRunner === "separate"
      ? new JobRunner(store, toKindMap(createServerJobKinds(launch), telemetry), { kinds: "given" })
      : new JobRunner(store, kinds);
  const runExports = new RunExports(store, runner.attached);
  const automation = new Automation(store, judging, settings);
  store.onWake(() => automation.wake());
  const auditLog = new AuditLog(store, () => metrics.countDroppedAuditEntry());
  const dailyIngest = settings.tenantIngestBytes === undefined ? undefined : new DailyIngest(store);
  const tenantLimits = new TenantLimits({
    requestRate: settings.tenantRate,
    ingestBytes: settings.tenantIngestBytes,
    daily: dailyIngest,
    onRefused: (limit) => metrics.countLimitedRequest(limit),
  });
  const runQuota = new RunQuota(store, {
    maxRuns: settings.tenantMaxRuns,
    onRefused: () => metrics.countLimitedRequest("stored_runs"),
  });
  const receiver =
    log === undefined || telemetry === undefined ? (log ?? store) : traceLog(log, telemetry);
  const byteQuota = new ByteQuota(store, {
    maxBytes: settings.tenantMaxBytes,
    onRefused: () => metrics.countLimitedRequest("stored_bytes"),
  });
  const auditPruner = new AuditPruner(store, settings.auditDays);
  // Uploads are stored in the data folder, on the same disk as the database that their rows are added to.
  const uploadFolder = settings.dataDir === memoryDataDir ? tmpdir() : settings.dataDir;
  const tls = settings.tls === undefined ? undefined : readTlsContext(settings.tls);
  const serverOptions = {
    headersTimeout: serverLimits.headersMs,
    connectionsCheckingInterval: 5_000,
    requireHostHeader: false,
  };
  const app = fastify({
    schemaController: { compilersFactory: unusedCompilers },
    bodyLimit: serverLimits.bodyBytesMax,
    // The longest time limit of any body. Each kind of body also has a limit of its own, which `readChunks` applies.
    requestTimeout: serverLimits.uploadMs,
    connectionTimeout: serverLimits.idleSocketMs,
    keepAliveTimeout: serverLimits.keepAliveMs,
    http: serverOptions,
    ...(tls === undefined ? {} : { https: { ...serverOptions, ...tls } }),
    // Without trusted proxies, the headers X-Forwarded-… are ignored: any client can send them.
    trustProxy: settings.trustedProxies.length > 0 && [...settings.trustedProxies],
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // Fastify calls this if the path is malformed, or if one of its segments is too long.
    frameworkErrors: (cause, _request, reply) => void sendError(cause, addSafeHeaders(reply)),
    clientErrorHandler: sendParserError,
    genReqId: readRequestId,
    rewriteUrl: createUrlRewriter(settings.publicUrl),
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
  }).withTypeProvider<TypeBoxTypeProvider>();

  addSerializers(app);
  addValidators(app);
  addBaseUrl(app, settings.publicUrl);
  requestLog?.observe(app);
  if (telemetry !== undefined) {
    recordRequests(app, telemetry);
  }
  addDrain(app);
  addRequestIds(app);
  app.decorateRequest("tenantId", "");
  app.decorateRequest("apiKey", null);
  app.decorateRequest("audit", undefined);
  addProtocolErrorHandlers(app);
  observeRequests(app, metrics);
  app.addHook("onRequest", ({ headers }, _reply, done) => {
    sourceGuard.checkSource(headers);
    done();
  });
  app.addHook("onSend", async ({ raw, protocol }, reply) => {
    addSafeHeaders(reply);
    if (protocol === "https") {
      void reply.header("strict-transport-security", `max-age=${strictTransportSeconds}`);
    }
    if (!raw.complete) {
      // The response was sent before the whole body arrived, so the connection can't be reused.
      void reply.header("connection", "close");
      closeUnread(raw);
    }
  });
  app.addHook("onReady", async () => {
    runner.start();
    automation.start();
  });
  app.addHook("preClose", () => runner.closeAttached());
  app.addHook("onClose", async () => {
    await Promise.all([runner.close(), automation.close()]);
  });
  if (settings.tls !== undefined && tls !== undefined && app.server instanceof HttpsServer) {
    const reloader = new TlsReloader(app.server, { files: settings.tls, current: tls });
    app.addHook("onClose", async () => reloader.close());
  }
  app.addHook("onClose", () => workThreads.close());
  app.addHook("onClose", async () => {
    auditPruner.close();
    runQuota.close();
    byteQuota.close();
    await dailyIngest?.close();
    await auditLog.close();
  });
  app.addHook("onClose", async () => models.close());
  const sendPageNotFound = addWebPages(app, { basePath: settings.publicUrl?.basePath ?? "" });
  app.setErrorHandler((cause: FastifyError | RequestError, _request, reply) =>
    sendError(cause, reply),
  );
  app.setNotFoundHandler(
    (request, reply) =>
      sendPageNotFound(request, reply) ||
      reply.code(404).send({
        detail: `there is no ${request.method} ${request.url.split("?")[0]}${describeSpansPath(request)}`,
      }),
  );
  app.removeAllContentTypeParsers();
  const checkKey = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    // A route that declares no scope requires a key with the scope `admin`, which permits everything.
    const { scope = "admin" } = request.routeOptions.config;
    const caller = await keyGuard.findCaller(request.headers);
    request.tenantId = caller.tenantId;
    request.apiKey = caller.apiKey;
    // The audit entry begins before the permission is checked, so that refused requests are recorded, too.
    request.audit = auditLog.begin(request, reply, caller.actor);
    keyGuard.assertPermitted(caller, request.headers, scope);
    await limitRequest({ limits: tenantLimits, runQuota, byteQuota }, request, reply);
  };
  addApiDocs(app, settings.publicUrl);
  app.register(async (publicApp: FastifyInstance) => {
    publicApp.addContentTypeParser("*", ({ raw }: FastifyRequest) =>
      parseBody(raw, serverLimits.openBodyBytes),
    );
    addPublicRoutes(publicApp, store);
    addHealthRoutes(publicApp, store, log);
    addUiFeedbackFormRoutes(publicApp, store);
    addSharedRunRoutes(publicApp, dependencies);
    addUiSharedTraceRoutes(publicApp, dependencies);
    addSharedV2Routes(publicApp, dependencies);
    addSharedDatasetRoutes(publicApp, dependencies);
    addAttachmentRoutes(publicApp, dependencies);
    addUiRunDownloadRoute(publicApp, runExports);
  });
  app.register(async (ingestApp: FastifyInstance) => {
    ingestApp.addHook("onRequest", checkKey);
    // The handlers read the body themselves, as it arrives.
    ingestApp.addContentTypeParser("*", (_request, _payload, done) => done(null));
    addStreamRoutes(ingestApp, { store: receiver, workThreads });
    addExampleWriteRoutes(ingestApp, { ...dependencies, workThreads });
    addUploadRoutes(ingestApp, { store, folder: uploadFolder });
    addUiImportRoutes(ingestApp, { store, work: workThreads });
  });
  app.register(async (authenticatedApp: FastifyInstance) => {
    authenticatedApp.addHook("onRequest", checkKey);
    authenticatedApp.addContentTypeParser("*", ({ raw }: FastifyRequest) =>
      parseBody(raw, serverLimits.bodyBytesMax),
    );
    addJsonRoutes(authenticatedApp, store);
    addMetricRoute(authenticatedApp, metrics);
    addLiveRoutes(authenticatedApp, store, keyGuard);
    addModelRoutes(authenticatedApp, { ...models, store, workThreads });
    addUiSettingsRoutes(authenticatedApp, {
      store,
      keyGuard,
      settings,
      usage: { maximums: settings, dailyIngest, runQuota, byteQuota },
    });
    addUiAuditRoutes(authenticatedApp, {
      store,
      isOperator: (request) => isOperator({ store, keyGuard }, request),
      auditDays: settings.auditDays,
    });
    addUiFeedbackRoutes(authenticatedApp, store);
    addRunRoutes(authenticatedApp, dependencies);
    addV2Routes(authenticatedApp, dependencies);
    addUiRunRoutes(authenticatedApp, store);
    addUiRunExportRoute(authenticatedApp, runExports);
    addAnnotationQueueRoutes(authenticatedApp, dependencies);
    addDatasetSearchRoutes(authenticatedApp, dependencies);
    addDatasetRunRoutes(authenticatedApp, dependencies);
    addExampleRoutes(authenticatedApp, dependencies);
    addUiDatasetRoutes(authenticatedApp, store);
    addUiTraceRoutes(authenticatedApp, dependencies);
    addUiTraceShareRoutes(authenticatedApp, store);
    addUiJobRoutes(authenticatedApp, { store, kinds, runner });
    addUiAlertRoutes(authenticatedApp, store);
    addUiRuleRoutes(authenticatedApp, {
      store,
      judging,
      access: models.access,
      onChange: () => automation.rules.wake(),
    });
    addUiWebhookRoutes(authenticatedApp, {
      store,
      outbound: automation.outbound,
      sender: automation.sender,
    });
    addLaunchRoutes(authenticatedApp, { ...judging, store, access: models.access, runner });
  });
  return app;
}

/** Returns the kinds of jobs by their names. If the server records spans, each step of a job is recorded as one. */
const toKindMap = (
  kinds: readonly AnyJobKind[],
  telemetry: Telemetry | undefined,
): ReadonlyMap<string, AnyJobKind> =>
  new Map(
    kinds.map((kind) => [
      kind.name,
      telemetry === undefined ? kind : traceJobKind(kind, telemetry),
    ]),
  );

/** Creates the objects that call models at the endpoints that the operator has configured. */
function createModels(
  store: Store,
  { modelEndpoints, modelRate, modelBudget, modelToken, publicUrl }: AppSettings,
  keyGuard: KeyGuard,
) {
  const transport = new OutboundTransport(modelEndpoints);
  const keys = new ModelKeys();
  return {
    keys,
    access: new ModelAccess(modelToken, () => keyGuard.isKeyRequired(), publicUrl),
    caller: new ModelCaller({
      endpoints: modelEndpoints,
      budget: modelBudget,
      rate: new CallRate(modelRate),
      store,
      transport,
      keys,
    }),
    close: () => transport.close(),
  };
}

/**
 * Parses a body as JSON, whatever its content type, and limits its size, the number of its values and their nesting. An
 * empty body is treated as absent.
 */
async function parseBody(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  const check = new JsonBoundsCheck({
    valuesMax: serverLimits.bodyValues,
    depthMax: serverLimits.bodyDepth,
  });
  await readChunks(
    request,
    (chunk) => {
      check.push(chunk);
      chunks.push(chunk);
    },
    { bytesMax, withinMs: serverLimits.requestMs, inflateRatioMax: serverLimits.inflateRatio },
  );
  return parseJson(joinChunks(chunks));
}

/** Adds routes that need no API key. */
function addPublicRoutes(app: FastifyInstance, store: Store): void {
  addInfoRoutes(app, store);
  addSubmittedFeedbackRoutes(app, store);
}

/** Adds routes whose handlers read the body as a stream. */
function addStreamRoutes(app: FastifyInstance, dependencies: IngestDependencies): void {
  addIngestRoutes(app, dependencies);
  addOtlpRoutes(app, dependencies);
}

/** Adds routes with a JSON body or none. */
function addJsonRoutes(app: FastifyInstance, store: Store): void {
  addProjectRoutes(app, store);
  addViewRoutes(app, store);
  addDatasetRoutes(app, store);
  addDatasetVersionRoutes(app, store);
  addFeedbackRoutes(app, store);
  addComparativeRoutes(app, store);
  addPriceRoutes(app, store);
  addPromptRoutes(app, store);
  addSettingsRoutes(app, store);
  addUiAnnotationQueueRoutes(app, store);
  addUiCommentRoutes(app, store);
  addUiThreadRoutes(app, store);
  addUiMetricRoutes(app, store);
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) {
    return undefined;
  }
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return value;
  } catch (cause) {
    throw new RequestError(422, `the body is not JSON: ${String(cause)}`);
  }
}

/** The value of `max-age` in `Strict-Transport-Security`: for a year, browsers use only HTTPS for this host. */
const strictTransportSeconds = 31_536_000;

/** Seconds after which a client may retry an upload that did not fit on the disk. */
const diskRetrySeconds = 10;

function sendError(cause: FastifyError | RequestError, reply: FastifyReply): FastifyReply {
  if (cause instanceof RequestError) {
    if (cause.retryAfterSeconds !== undefined) {
      void reply.header("retry-after", cause.retryAfterSeconds);
    }
    return reply.code(cause.status).send({
      detail: cause.message,
      // The operator can find the request in the log by this id.
      ...(cause.status >= 500 ? { request_id: reply.request.id } : {}),
    });
  }
  if (cause.validation !== undefined) {
    const detail = cause.validation.map(({ instancePath, message, keyword }) => ({
      loc: [cause.validationContext ?? "body", ...instancePath.split("/").slice(1)],
      msg: message ?? "is not valid",
      type: keyword,
    }));
    return reply.code(422).send({ detail });
  }
  if (cause.code === "ENOSPC") {
    const detail =
      "the server's disk has no space for the upload: delete data that is no longer needed, or free disk space";
    return reply
      .header("retry-after", diskRetrySeconds)
      .code(503)
      .send({ detail, request_id: reply.request.id });
  }
  const status = cause.statusCode ?? 500;
  if (status >= 500) {
    process.emitWarning(cause);
  }
  return reply
    .code(status)
    .send(
      status >= 500
        ? { detail: `the server failed: ${cause.message}`, request_id: reply.request.id }
        : { detail: cause.message },
    );
}
