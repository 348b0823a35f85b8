import { endpoints } from "millrace/model";
import type { WireRun } from "millrace/model";
import { Comparison } from "./compare.ts";
import type { ReadBack } from "./compare.ts";
import type { Ledger } from "./ledger.ts";
import { startProgress } from "./progress.ts";

/** The fields that are compared. Selecting only these keeps a page of results small. */
const select = [
  "id",
  "name",
  "run_type",
  "parent_run_id",
  "inputs",
  "outputs",
  "error",
  "events",
  "end_time",
];
const pageLimit = 100;
const requestTimeoutMs = 30_000;

/** The project to read, and the ledger to compare it with. */
export interface ReadBackOptions {
  readonly serverUrl: string;
  readonly project: string;
  readonly ledger: Ledger;
  /** Stops reading early. */
  readonly signal: AbortSignal;
}

/** Reads the runs of a project from the server and compares them with the ledger. */
export const readBack = async ({
  serverUrl,
  project,
  ledger,
  signal,
}: ReadBackOptions): Promise<{ readonly readBack: ReadBack; readonly readBackMs: number }> => {
  const startedAt = performance.now();
  const comparison = new Comparison(ledger);
  const progress = startProgress("Reading back     ", ledger.size, "runs");
  let count = 0;
  for await (const run of readRuns(serverUrl, project)) {
    comparison.add(run);
    count += 1;
    if (count % pageLimit === 0) {
      progress.update(count);
    }
    if (signal.aborted) {
      break;
    }
  }
  progress.stop(count);
  return { readBack: comparison.result(), readBackMs: performance.now() - startedAt };
};

/** Reads every run of a project from the server, one page in memory at a time. */
async function* readRuns(serverUrl: string, project: string): AsyncGenerator<WireRun> {
  const { method, path } = endpoints.queryRuns;
  const { id } = await findProject(serverUrl, project);
  let cursor: string | undefined;
  do {
    const body = JSON.stringify({ session: [id], select, limit: pageLimit, cursor });
    const page = (await call(`${serverUrl}${path}`, { method, body })) as RunPage;
    yield* page.runs;
    cursor = page.cursors?.next ?? undefined;
  } while (cursor !== undefined);
}

interface RunPage {
  readonly runs: readonly WireRun[];
  readonly cursors?: { readonly next?: string | null };
}

/** A project in the server's response. */
interface Project {
  readonly id: string;
  readonly tenant_id: string;
}

/** The URL of a trace in the UI. */
export const traceAddress = async (
  serverUrl: string,
  project: string,
  traceId: string,
): Promise<string> => {
  const { id, tenant_id: tenantId } = await findProject(serverUrl, project);
  return `${serverUrl}/o/${tenantId}/projects/p/${id}?trace=${traceId}`;
};

const findProject = async (serverUrl: string, name: string): Promise<Project> => {
  const url = new URL(`${serverUrl}${endpoints.listProjects.path}`);
  url.searchParams.set("name", name);
  const projects = (await call(url.href, { method: "GET" })) as readonly Project[];
  const [project] = projects;
  if (project === undefined) {
    throw new ReadBackError(`The server has no project ${name}.`);
  }
  return project;
};

const call = async (url: string, init: RequestInit): Promise<unknown> => {
  const response = await fetch(url, {
    ...init,
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (!response.ok) {
    const reason = (await response.text()).slice(0, 500);
    throw new ReadBackError(`Failed to ${init.method} ${url}: ${response.status} ${reason}`);
  }
  return response.json();
};

/** The project or its runs could not be read from the server. */
export class ReadBackError extends Error {
  override readonly name = "ReadBackError";
}
