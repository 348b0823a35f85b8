import { Datasets } from "../../src/api/datasets/datasets.ts";
import { Examples } from "../../src/api/datasets/examples.ts";
import { Experiments } from "../../src/api/experiments.ts";
import { Projects } from "../../src/api/projects.ts";
import { Tenant } from "../../src/api/tenant.ts";
import { TenantIds } from "../../src/api/tenant-ids.ts";
import { createTestHttp } from "./api.ts";
import type { TestHttp, TestHttpOptions } from "./api.ts";
import { noUploads } from "./no-uploads.ts";

export interface DatasetResources extends TestHttp {
  readonly projects: Projects;
  readonly datasets: Datasets;
  readonly examples: Examples;
  readonly experiments: Experiments;
  /** Messages that were logged. */
  readonly warnings: readonly string[];
}

/** Datasets and their related resources, as a client creates them. Their connections are closed when the test ends. */
export function createDatasetResources(
  endpoint: string,
  options: TestHttpOptions = {},
): DatasetResources {
  const { http, waits } = createTestHttp(endpoint, options);
  const warnings: string[] = [];
  const warn = (message: string): unknown => warnings.push(message);
  const projects = new Projects(http.call, "http://host.test");
  const examples = new Examples(http, endpoint, noUploads);
  const tenants = new TenantIds(new Tenant(http.call), projects);
  const host = "http://host.test";
  return {
    http,
    waits,
    projects,
    examples,
    datasets: new Datasets(http, { host, endpoint, tenants, examples, warn }),
    experiments: new Experiments(http.call, projects),
    warnings,
  };
}

/** The parts of a submitted form: names, types and texts. */
export async function partsOf(body: unknown, contentType: string): Promise<readonly SentPart[]> {
  const response = new Response(new Uint8Array(body as Buffer), {
    headers: { "content-type": contentType },
  });
  const parts = [...(await response.formData())];
  return Promise.all(
    parts.map(async ([name, value]) =>
      typeof value === "string"
        ? { name, text: value }
        : { name, text: await value.text(), fileName: value.name, type: value.type },
    ),
  );
}

export interface SentPart {
  readonly name: string;
  readonly text: string;
  readonly fileName?: string;
  readonly type?: string;
}
