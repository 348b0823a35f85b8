import { AnnotationQueues, annotationQueueCalls } from "../api/annotation-queues.ts";
import { Datasets, datasetCalls } from "../api/datasets/datasets.ts";
import { Examples, exampleCalls } from "../api/datasets/examples.ts";
import { Experiments, experimentCalls } from "../api/experiments.ts";
import { Feedbacks, feedbackCalls } from "../api/feedback.ts";
import { refuseUnknownKeys } from "../api/http/known-arguments.ts";
import type { CallTables } from "../api/http/known-arguments.ts";
import { Http } from "../api/http/http.ts";
import type { HttpOptions } from "../api/http/http.ts";
import { Projects, projectCalls } from "../api/projects.ts";
import { PromptCache } from "../api/prompts/prompt-cache.ts";
import { PromptSnapshots } from "../api/prompts/prompt-snapshots.ts";
import { Prompts, promptCalls } from "../api/prompts/prompts.ts";
import { Runs, runCalls } from "../api/runs/runs.ts";
import { Tenant, tenantCalls } from "../api/tenant.ts";
import { TenantIds } from "../api/tenant-ids.ts";
import { Views, viewCalls } from "../api/views.ts";
import { OptionError } from "../model/errors.ts";
import { omitUndefined } from "../model/fields.ts";
import { toUiUrl } from "../model/links.ts";
import { findCallProblem } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import type { PromptCounts } from "../model/records/prompt-counts.ts";
import type { WarningKind } from "../tracing/tape/recorder.ts";
import { Uploads } from "../uploads/uploads.ts";
import { SharedTraffic } from "../model/records/shared-traffic.ts";
import { selectConnection, selectShippingOptions } from "../delivery/shipping-options.ts";
import { UploadPool } from "../uploads/upload-pool.ts";

// To add a resource, add it to `Resources`, `callTables` and `createApi`. The properties of `client` and `client.sync`
// and the checks of arguments are derived from these.

/** The resources of a client. */
export interface Resources {
  /** Projects, which group runs. */
  readonly projects: Projects;
  /** Versioned prompts. */
  readonly prompts: Prompts;
  /** Queries over recorded runs. */
  readonly runs: Runs;
  /** Datasets of examples, with versions and splits. */
  readonly datasets: Datasets;
  /** The examples in datasets. */
  readonly examples: Examples;
  /** Comparisons of experiments, which are projects that ran over the same dataset. */
  readonly experiments: Experiments;
  /** Feedback on runs and projects. */
  readonly feedback: Feedbacks;
  /** Queues of runs for human review. */
  readonly annotationQueues: AnnotationQueues;
  /** Saved filters of runs. */
  readonly views: Views;
  /** The tenant that the API key belongs to. */
  readonly tenant: Tenant;
}

/** The option names that the methods of each resource accept. */
export const callTables: CallTables<Resources> = {
  projects: projectCalls,
  prompts: promptCalls,
  runs: runCalls,
  datasets: datasetCalls,
  examples: exampleCalls,
  experiments: experimentCalls,
  feedback: feedbackCalls,
  annotationQueues: annotationQueueCalls,
  views: viewCalls,
  tenant: tenantCalls,
};

/** The resources of a client. They share one HTTP client, which connects at the first call. */
export interface Api {
  readonly resources: Resources;
  /**
   * Aborts the calls in progress and closes connections and threads. No call is possible afterwards. May be called
   * twice.
   */
  readonly close: () => Promise<void>;
}

/** Settings that differ between a client and the worker thread of `client.sync`. */
export interface ApiContext extends Pick<HttpOptions, "getAmbientSignal" | "getAttemptLog"> {
  /** Number of worker threads for uploads. If 0, the current thread uploads. */
  readonly uploadThreads: number;
  /** The environment variables of the upload threads. */
  readonly env: Readonly<Record<string, string>>;
  /** Logs a warning of a resource. Warnings of one topic are logged at most once per `logRepeatMs`. */
  readonly warn: Warn;
  /** Counts the results of `prompts.get`. */
  readonly promptCounts: PromptCounts;
}

/** Logs a warning. */
export type Warn = (message: string, topic?: WarningKind) => void;

/** Creates the resources of a client, with the HTTP client and the upload threads that they share. */
export function createApi(
  options: ResolvedOptions,
  headers: Readonly<Record<string, string>>,
  { getAmbientSignal, getAttemptLog, warn, uploadThreads, env, promptCounts }: ApiContext,
): Api {
  const { attempts, retryAfterLimitMs, maxResponseBytes, requestsInFlight } = options;
  const callProblem = findCallProblem(options);
  const connection = {
    ...selectConnection(options, headers, requestsInFlight),
    ...omitUndefined({ sendingProblem: callProblem }),
  };
  const http = new Http({
    connection,
    attempts,
    retryAfterLimitMs,
    maxResponseBytes,
    ...omitUndefined({ getAmbientSignal, getAttemptLog }),
  });
  const host = toUiUrl(options.endpoint);
  const projects = new Projects(http.call, host);
  const tenant = new Tenant(http.call);
  const pool = new UploadPool({
    shipping: selectShippingOptions(options, headers, new SharedTraffic()),
    threads: uploadThreads,
    env,
  });
  const uploader: Uploads = new Uploads({
    call: http.call,
    datasets: { create: async (request) => datasets.create(request) },
    getShipper: () => {
      if (callProblem !== undefined) {
        throw new OptionError(callProblem);
      }
      return pool;
    },
    filters: options,
    attachmentBytes: options.maxAttachmentBytes,
    projectName: options.projectName,
  });
  const examples = new Examples(http, options.endpoint, uploader);
  const tenantIds = new TenantIds(tenant, projects);
  const init = { host, endpoint: options.endpoint, tenants: tenantIds, examples, warn };
  const datasets: Datasets = new Datasets(http, init);
  const cache = createPromptCache(options, { warn, promptCounts });
  const resources: Resources = {
    projects,
    prompts: new Prompts(http.call, { host, tenant, cache }),
    runs: new Runs(http, { host, endpoint: options.endpoint, projects, uploader }),
    datasets,
    examples,
    experiments: new Experiments(http.call, projects),
    feedback: new Feedbacks(http.call, uploader),
    annotationQueues: new AnnotationQueues(http.call),
    views: new Views(http.call, projects),
    tenant,
  };
  return {
    resources: refuseUnknownKeys(resources, callTables),
    close: async () => {
      await Promise.all([http.close(), pool.close()]);
      await cache.close();
    },
  };
}

function createPromptCache(
  options: ResolvedOptions,
  { warn, promptCounts }: Pick<ApiContext, "warn" | "promptCounts">,
): PromptCache {
  const { endpoint, workspaceId = "", promptSnapshotDir: folder } = options;
  const limits = { maxFiles: options.maxCachedPrompts, maxBytes: options.maxPromptCacheBytes };
  return new PromptCache({
    ttlMs: options.promptTtlMs,
    waitMs: options.promptWaitMs,
    maxPrompts: limits.maxFiles,
    maxBytes: limits.maxBytes,
    counts: promptCounts,
    warn: (message) => warn(message, "promptSubstitute"),
    snapshots:
      folder === undefined
        ? undefined
        : new PromptSnapshots({
            folder,
            origin: `${endpoint} ${workspaceId}`,
            ...limits,
            warn: (message) => warn(message, "promptSnapshot"),
          }),
  });
}
