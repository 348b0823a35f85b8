import { AnnotationQueues } from "../api/annotation-queues.ts";
import { Datasets } from "../api/datasets/datasets.ts";
import { Examples } from "../api/datasets/examples.ts";
import { Experiments } from "../api/experiments.ts";
import { Feedbacks } from "../api/feedback.ts";
import { refuseUnknownKeys } from "../api/http/known-arguments.ts";
import { Http } from "../api/http/http.ts";
import type { HttpOptions } from "../api/http/http.ts";
import { Projects } from "../api/projects.ts";
import { Prompts } from "../api/prompts/prompts.ts";
import { Runs } from "../api/runs/runs.ts";
import { Tenant } from "../api/tenant.ts";
import { TenantIds } from "../api/tenant-ids.ts";
import { OptionError } from "../model/errors.ts";
import { definedOf } from "../model/fields.ts";
import { hostOf } from "../model/links.ts";
import { sendsNothing } from "../model/options/options.ts";
import type { ResolvedOptions } from "../model/options/options.ts";
import { Uploads } from "../uploads/uploads.ts";
import { SharedTraffic } from "../model/records/shared-traffic.ts";
import { callTables } from "./call-tables.ts";
import type { Resources } from "./resources.ts";
import { connectionOf, shippingOf } from "../delivery/shipping-options.ts";
import { UploadPool } from "../uploads/upload-pool.ts";

/** The resources of a client, which share one HTTP client. It connects at the first call. */
export interface Api extends Resources {
  /** Aborts the calls in progress and closes connections and threads. Final; may be called twice. */
  readonly close: () => Promise<void>;
}

/** Settings that differ between a client and the worker thread of `client.sync`. */
export interface ApiContext extends Pick<HttpOptions, "ambientSignal"> {
  /** Number of worker threads for uploads; 0 uploads from the current thread. */
  readonly uploadThreads: number;
  /** The environment variables of these threads. */
  readonly env: Readonly<Record<string, string>>;
  /** Called with the warnings of resources. */
  readonly warn: (message: string) => void;
}

export function createApi(
  options: ResolvedOptions,
  headers: Readonly<Record<string, string>>,
  { ambientSignal, warn, uploadThreads, env }: ApiContext,
): Api {
  const { attempts, retryAfterLimitMs, maxResponseBytes, requestsInFlight } = options;
  const connection = connectionOf(options, headers, requestsInFlight);
  const http = new Http({
    connection,
    attempts,
    retryAfterLimitMs,
    maxResponseBytes,
    ...definedOf({ ambientSignal }),
  });
  const sendProblem = sendsNothing(options);
  const host = hostOf(options.endpoint);
  const projects = new Projects(http.call, host);
  const tenant = new Tenant(http.call);
  const pool = new UploadPool({
    shipping: shippingOf(options, headers, new SharedTraffic()),
    threads: uploadThreads,
    env,
  });
  const uploader: Uploads = new Uploads({
    call: http.call,
    datasets: { create: async (request) => datasets.create(request) },
    shipper: () => {
      if (sendProblem !== undefined) {
        throw new OptionError(sendProblem);
      }
      return pool;
    },
    filters: options,
    attachmentBytes: options.maxAttachmentBytes,
    projectName: options.projectName,
  });
  const examples = new Examples(http, options.endpoint, uploader);
  const tenants = new TenantIds(tenant, projects);
  const init = { host, endpoint: options.endpoint, tenants, examples, warn };
  const datasets: Datasets = new Datasets(http, init);
  const resources: Resources = {
    projects,
    prompts: new Prompts(http.call, host, tenant),
    runs: new Runs(http, { host, endpoint: options.endpoint, projects, uploader }),
    datasets,
    examples,
    experiments: new Experiments(http.call, projects),
    feedback: new Feedbacks(http.call, uploader),
    annotationQueues: new AnnotationQueues(http.call),
    tenant,
  };
  return {
    ...refuseUnknownKeys(resources, callTables),
    close: async () => {
      await Promise.all([http.close(), pool.close()]);
    },
  };
}
