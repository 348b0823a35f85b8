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

/** The request half of a client: the resources over one sender. Connects at the first call. */
export interface Api extends Resources {
  /** Ends the calls under way and gives back what they took. Final; may be called twice. */
  readonly close: () => Promise<void>;
}

/** What is around the resources: a client, or the worker of `client.sync`. */
export interface ApiSurroundings extends Pick<HttpOptions, "ambientSignal"> {
  /** Threads that upload; 0 uploads from this one. */
  readonly uploadThreads: number;
  /** The environment that they see. */
  readonly env: Readonly<Record<string, string>>;
  /** Where a resource's warnings go. */
  readonly warn: (message: string) => void;
}

export function createApi(
  options: ResolvedOptions,
  headers: Readonly<Record<string, string>>,
  { ambientSignal, warn, uploadThreads, env }: ApiSurroundings,
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
  const refusal = sendsNothing(options);
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
      if (refusal !== undefined) {
        throw new OptionError(refusal);
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
