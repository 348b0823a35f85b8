import type { FastifyInstance } from "fastify";
import { uiEndpoints } from "millrace/model";
import { createConfiguredScorer, scorerForms } from "millrace/scorers";
import { scopeToRequest } from "../../http/request-scope.ts";
import { route } from "../../http/route.ts";
import { messageOf, RequestError } from "../../model/errors.ts";
import type { Job } from "../../jobs/job.ts";
import type { JobRunner } from "../../jobs/job-runner.ts";
import type { ModelAccess } from "../../models/model-access.ts";
import { estimateCost } from "./estimate-cost.ts";
import type { TargetEstimate } from "./estimate-cost.ts";
import { createExperiment, experimentJobKind, prepareExperiments } from "./experiment-job.ts";
import { launchBody } from "./launch-schemas.ts";
import type { LaunchBody, LaunchParameters } from "./launch-schemas.ts";
import type { LaunchDependencies, LaunchStore } from "./launch-store.ts";

/** What the routes that start experiments depend on. */
export interface LaunchRouteDependencies extends LaunchDependencies {
  readonly store: LaunchStore;
  readonly access: ModelAccess;
  readonly runner: Pick<JobRunner, "wake">;
}

const apiTag = "experiments";

/** Adds the routes that the UI uses to start experiments. */
export function addLaunchRoutes(app: FastifyInstance, dependencies: LaunchRouteDependencies): void {
  app.route({
    ...route(uiEndpoints.listScorers, {
      tag: apiTag,
      summary: "Lists the scorers that need no code, with their options.",
    }),
    handler: async () => ({ scorers: scorerForms }),
  });
  app.route({
    ...route(uiEndpoints.listExperimentJobs, {
      tag: apiTag,
      summary: "Lists the latest jobs that run experiments, the newest first.",
    }),
    handler: async (request) => ({
      jobs: (
        await dependencies.store.forRequest(request).read.jobs.list(request.tenantId, {
          kind: experimentJobKind,
          limit: maxListedJobs,
          offset: 0,
          isActive: false,
        })
      ).map(toJobJson),
    }),
  });
  app.route<{ Body: LaunchBody }>({
    ...route(uiEndpoints.estimateExperiments, {
      tag: apiTag,
      summary:
        "Estimates what experiments cost, and fills in their prompts with the first example.",
      body: launchBody,
    }),
    handler: async (request) => {
      const { body, tenantId } = request;
      assertScorers(body);
      const scoped = scopeToRequest(dependencies, request);
      const { targets, isMeasured } = await estimateCost(scoped, tenantId, body);
      return { is_measured: isMeasured, targets: targets.map(toEstimateJson) };
    },
  });
  app.route<{ Body: LaunchBody }>({
    ...route(uiEndpoints.startExperiments, {
      tag: apiTag,
      summary: "Starts an experiment for each target, as a job.",
      body: launchBody,
    }),
    handler: async (request) => {
      const { body, tenantId, headers } = request;
      await dependencies.access.check(headers);
      assertScorers(body);
      const scoped = scopeToRequest(dependencies, request);
      return { experiments: await startExperiments(scoped, tenantId, body) };
    },
  });
}

/** Maximum number of a tenant's jobs that run experiments in a list. */
const maxListedJobs = 200;

function toJobJson({ id, state, progress, failures, error, parameters }: Job) {
  const { experiment_id: experimentId, target } = parameters as unknown as LaunchParameters;
  return {
    id,
    state,
    experiment_id: experimentId,
    name: target.name,
    progress,
    failures: { count: failures.count, messages: failures.messages.slice(0, 1) },
    error,
  };
}

async function startExperiments(
  dependencies: LaunchDependencies & Pick<LaunchRouteDependencies, "runner">,
  tenantId: string,
  body: LaunchBody,
): Promise<readonly unknown[]> {
  const started = [];
  for (const { parameters, total } of await prepareExperiments(dependencies, tenantId, body)) {
    // The experiment exists before its job runs, so that the UI can open it at once.
    await createExperiment(dependencies, tenantId, parameters);
    const job = await dependencies.store.write.jobs.create(tenantId, {
      kind: experimentJobKind,
      title: `Experiment “${parameters.target.name}”`,
      parameters: JSON.parse(JSON.stringify(parameters)) as never,
      total,
    });
    started.push({ job_id: job.id, experiment_id: parameters.experiment_id });
  }
  dependencies.runner.wake();
  return started;
}

/**
 * Checks the scorers, and that all scores have different keys.
 *
 * @throws RequestError 422: a scorer or one of its options is invalid.
 */
function assertScorers({ scorers, judges }: LaunchBody): void {
  const keys = new Set<string>();
  const addKey = (key: string): void => {
    if (keys.has(key)) {
      throw new RequestError(
        422,
        `two scores would have the key ${JSON.stringify(key)}: give one of them another key`,
      );
    }
    keys.add(key);
  };
  for (const config of scorers) {
    try {
      addKey(createConfiguredScorer(config).name);
    } catch (cause) {
      throw cause instanceof RequestError ? cause : new RequestError(422, messageOf(cause));
    }
  }
  judges.forEach(({ key }) => addKey(key));
}

const toEstimateJson = (estimate: TargetEstimate) => ({
  name: estimate.name,
  prompt: estimate.prompt,
  rows: estimate.rows,
  input_tokens: estimate.inputTokens,
  output_tokens: estimate.outputTokens,
  cost: estimate.cost,
  preview: limitPreview(estimate.preview),
  failing: estimate.failing,
  sampled: estimate.sampled,
});

/** Maximum number of characters of a message, and of a tool's name, that the UI shows. */
const previewChars = 4_000;
const previewNameChars = 200;

const limitPreview = (preview: TargetEstimate["preview"]): object =>
  "error" in preview
    ? {
        variables: preview.variables,
        paths: preview.paths,
        error: preview.error.slice(0, previewChars),
      }
    : {
        variables: preview.variables,
        paths: preview.paths,
        tools: (preview.saved.tools ?? []).map(({ name }) => name.slice(0, previewNameChars)),
        settings: preview.saved.settings,
        has_schema: preview.schema !== undefined,
        messages: preview.messages.map(({ role, content }) => ({
          role,
          content: content.slice(0, previewChars),
          chars: content.length,
        })),
      };
