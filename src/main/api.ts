import { AnnotationQueues } from "../api/annotation-queues.ts";
import { Datasets } from "../api/datasets.ts";
import { Examples } from "../api/examples.ts";
import { Experiments } from "../api/experiments.ts";
import { Feedbacks } from "../api/feedback.ts";
import { Http } from "../api/http.ts";
import type { HttpOptions } from "../api/http.ts";
import { Projects } from "../api/projects.ts";
import { Prompts } from "../api/prompts.ts";
import { Runs } from "../api/runs.ts";
import { Tenant } from "../api/tenant.ts";
import { TenantIds } from "../api/tenant-ids.ts";
import { definedOf } from "../model/fields.ts";
import { hostOf } from "../model/links.ts";
import type { PlainOptions } from "../model/option-table.ts";
import { connectionOf } from "./shipping-options.ts";

/** What a client can be asked for. */
export interface Nouns {
  readonly projects: Projects;
  readonly prompts: Prompts;
  readonly runs: Runs;
  readonly datasets: Datasets;
  readonly examples: Examples;
  readonly experiments: Experiments;
  readonly feedback: Feedbacks;
  readonly annotationQueues: AnnotationQueues;
  readonly tenant: Tenant;
}

/** The request half of a client: one sender, and the nouns over it. Connects at the first call. */
export interface Api extends Nouns {
  readonly http: Http;
}

/** What is around the nouns: a client, or the worker of `client.sync`. */
export interface ApiSurroundings extends Pick<HttpOptions, "ambientSignal"> {
  /** Where a noun's warnings go. */
  readonly warn: (message: string) => void;
}

export function createApi(
  options: PlainOptions,
  headers: Readonly<Record<string, string>>,
  { ambientSignal, warn }: ApiSurroundings,
): Api {
  const { attempts, retryAfterLimitMs, requestsInFlight } = options;
  const connection = connectionOf(options, headers, requestsInFlight);
  const http = new Http({
    connection,
    attempts,
    retryAfterLimitMs,
    ...definedOf({ ambientSignal }),
  });
  const host = hostOf(options.endpoint);
  const projects = new Projects(http.call, host);
  const tenant = new Tenant(http.call);
  const examples = new Examples(http, options.endpoint);
  const tenants = new TenantIds(tenant, projects);
  return {
    http,
    projects,
    prompts: new Prompts(http.call, host, tenant),
    runs: new Runs(http, { host, endpoint: options.endpoint, projects }),
    datasets: new Datasets(http, { host, endpoint: options.endpoint, tenants, examples, warn }),
    examples,
    experiments: new Experiments(http.call, projects),
    feedback: new Feedbacks(http.call),
    annotationQueues: new AnnotationQueues(http.call),
    tenant,
  };
}
