import type { FastifyInstance, FastifyRequest } from "fastify";
import { uiEndpoints } from "millrace/model";
import { Type } from "typebox";
import type { Static } from "typebox";
import { RequestError } from "../model/errors.ts";
import { parseBoolean, parseId, parsePage } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";
import type { RequestScoped } from "../http/request-scope.ts";
import { route } from "../http/route.ts";
import { JsonObject } from "../http/schema-parts.ts";
import { toIso } from "../http/wire-text.ts";
import { createSchemaCheck } from "../http/validation/validator-compiler.ts";
import type { Promised } from "../storage/promised.ts";
import { attachedKinds, jobLimits } from "./job.ts";
import type { Job, JobReads, JobWrites, JsonObject as Parameters } from "./job.ts";
import type { AnyJobKind } from "./job-kind.ts";
import type { JobRunner } from "./job-runner.ts";

/** The part of the store that the handlers of jobs use. */
export interface JobStore extends RequestScoped<JobStore> {
  readonly read: Promised<{ readonly jobs: JobReads }>;
  readonly write: Promised<{ readonly jobs: JobWrites }>;
}

/** What the routes of jobs depend on. */
export interface JobRouteDependencies {
  readonly store: JobStore;
  readonly kinds: ReadonlyMap<string, AnyJobKind>;
  readonly runner: JobRunner;
}

/** Body of `POST /ui/jobs`. The parameters are checked against the schema of the kind. */
const jobBody = Type.Object({
  kind: Type.String({ minLength: 1, maxLength: 100 }),
  parameters: JsonObject,
});

type JobBody = Static<typeof jobBody>;

const apiTag = "server";

/** Adds the routes of jobs: work that continues after the request that began it has ended. */
export function addUiJobRoutes(app: FastifyInstance, dependencies: JobRouteDependencies): void {
  const { store, runner } = dependencies;
  app.route({
    ...route(uiEndpoints.listJobs, {
      tag: apiTag,
      summary: "Lists jobs, the newest first.",
      query: {
        limit: "Maximum number of items; default 100.",
        offset: "Number of items to skip.",
        active: "Whether to list only jobs that are queued or running; default false.",
      },
    }),
    handler: async (request) => {
      const query = request.query as QueryString;
      const isActive = parseBoolean(query, "active") ?? false;
      const jobs = await store
        .forRequest(request)
        .read.jobs.list(request.tenantId, { ...parsePage(query), isActive });
      return { jobs: jobs.map(toJson) };
    },
  });
  app.route<{ Body: JobBody }>({
    ...route(uiEndpoints.createJob, { tag: apiTag, summary: "Creates a job.", body: jobBody }),
    handler: async (request) => toJson(await createJob(dependencies, request)),
  });
  app.route({
    ...route(uiEndpoints.readJob, { tag: apiTag, summary: "Reads a job." }),
    handler: async (request) =>
      toJson(await store.forRequest(request).read.jobs.find(request.tenantId, readJobId(request))),
  });
  app.route({
    ...route(uiEndpoints.cancelJob, { tag: apiTag, summary: "Cancels a job." }),
    handler: async (request) => {
      const job = await store
        .forRequest(request)
        .write.jobs.cancel(request.tenantId, readJobId(request));
      runner.cancel(job.id);
      return toJson(job);
    },
  });
  app.route({
    ...route(uiEndpoints.retryJob, {
      tag: apiTag,
      summary:
        "Continues a failed or canceled job after its last complete step, unless it was a download.",
    }),
    handler: async (request) => {
      const job = await store
        .forRequest(request)
        .write.jobs.retry(request.tenantId, readJobId(request));
      runner.wake();
      return toJson(job);
    },
  });
}

async function createJob(
  { store, kinds, runner }: JobRouteDependencies,
  request: FastifyRequest<{ Body: JobBody }>,
): Promise<Job> {
  const { body, tenantId } = request;
  const kind = kinds.get(body.kind);
  if (kind === undefined || kind.isInternal === true) {
    const names = [...kinds.values()].filter(({ isInternal }) => isInternal !== true);
    throw new RequestError(
      422,
      `kind must be one of ${names.map(({ name }) => name).join(", ")}, not ${JSON.stringify(body.kind)}`,
    );
  }
  const { parameters } = body;
  await assertParameters(kind, parameters);
  const prepared = await kind.prepare(tenantId, parameters);
  const job = await store.forRequest(request).write.jobs.create(tenantId, {
    kind: kind.name,
    title: prepared.title,
    parameters: (prepared.parameters ?? parameters) as Parameters,
    total: prepared.total ?? null,
  });
  runner.wake();
  return job;
}

async function assertParameters(
  kind: AnyJobKind,
  parameters: JobBody["parameters"],
): Promise<void> {
  if (JSON.stringify(parameters).length > jobLimits.jsonChars) {
    throw new RequestError(
      422,
      `parameters must have at most ${jobLimits.jsonChars} characters as JSON`,
    );
  }
  const error = await checkSchema(kind.parameters, parameters);
  if (error !== undefined) {
    throw new RequestError(422, `parameters${error}`);
  }
}

const checkSchema = createSchemaCheck();

const readJobId = (request: FastifyRequest): string =>
  parseId((request.params as { readonly id: string }).id, "job id");

const toJson = ({ progress, failures, ...job }: Job) => ({
  id: job.id,
  kind: job.kind,
  title: job.title,
  state: job.state,
  is_cancel_requested: job.isCancelRequested,
  is_retryable: !attachedKinds.includes(job.kind),
  progress,
  failures,
  error: job.error,
  result: job.result,
  created_at: toIso(job.createdMicros),
  started_at: job.startedMicros === null ? null : toIso(job.startedMicros),
  ended_at: job.endedMicros === null ? null : toIso(job.endedMicros),
});
