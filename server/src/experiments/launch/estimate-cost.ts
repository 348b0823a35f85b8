import { findProvider } from "../../models/model-caller.ts";
import { assumedOutputTokens, estimateTextTokens } from "../../models/estimate-tokens.ts";
import type { ModelChoice } from "../../judges/judge-schema.ts";
import type { Example } from "../../datasets/examples/example.ts";
import type { CallPrice } from "../../prices/price.ts";
import { launchLimits } from "./launch-schemas.ts";
import type { LaunchBody, LaunchParameters } from "./launch-schemas.ts";
import type { LaunchDependencies } from "./launch-store.ts";
import type { Rendered, RenderTask } from "./launch-tasks.ts";
import { prepareExperiments } from "./experiment-job.ts";
import { readPromptCommit } from "./prompt-source.ts";

/** The lowest and the highest of some numbers. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** What the experiment of one target is expected to cost. A target is a prompt with a model. */
export interface TargetEstimate {
  readonly name: string;
  /** The prompt with its commit. */
  readonly prompt: string;
  /** Number of rows: one for each repetition of each example. */
  readonly rows: number;
  /** The tokens of the target and of the judges. */
  readonly inputTokens: Range;
  readonly outputTokens: Range;
  /** In US dollars, including the judges; or the reason why it is unknown. */
  readonly cost: Range | { readonly reason: string };
  /** The prompt, filled in with the first example, or why that is impossible. */
  readonly preview: Rendered;
  /** Number of the {@link TargetEstimate.sampled} examples for which filling in the prompt fails. */
  readonly failing: number;
  /** Number of examples that were tried for the estimate. */
  readonly sampled: number;
}

/** The estimates for all targets of a request. */
export interface LaunchEstimate {
  readonly targets: readonly TargetEstimate[];
  /** Whether the output tokens were measured in earlier experiments on the dataset; otherwise they are assumed. */
  readonly isMeasured: boolean;
}

/** Output tokens to assume for an answer if there are no earlier experiments to measure. */
const assumedAnswer: Range = { low: 50, high: 1_000 };
/** Output tokens to assume for the answer of a judge: a score and a short reason. */
const assumedJudgement: Range = { low: 30, high: 300 };
/** Characters per token, for the lower end of the estimate. Most tokens have fewer characters. */
const maxCharsPerToken = 4.5;
/** Factor by which the output tokens of another prompt or model may differ from the measured ones. */
const measuredSpread = 2;
/** Number of the latest experiments that are searched for model calls. */
const measuredExperiments = 5;

/**
 * Estimates what experiments cost: from the size of the prompts, filled in with some of the examples, from prices, and
 * from the output tokens of earlier experiments on the dataset.
 *
 * @throws RequestError the dataset, a prompt or an endpoint does not exist.
 */
export async function estimateCost(
  dependencies: LaunchDependencies,
  tenantId: string,
  body: LaunchBody,
): Promise<LaunchEstimate> {
  const { store } = dependencies;
  const prepared = await prepareExperiments(dependencies, tenantId, body);
  const examples = await store.read.examples.page(tenantId, {
    datasetId: body.dataset_id,
    versionTime: prepared[0]?.parameters.version_us ?? null,
    ...(body.splits === undefined ? {} : { splits: body.splits }),
    after: -1,
    limit: launchLimits.sampledExamples,
    bytesMax: launchLimits.stepBytes,
  });
  const measured = await measureOutputs(dependencies, tenantId, body.dataset_id);
  const targets: TargetEstimate[] = [];
  for (const { parameters, total } of prepared) {
    // One after the other, because the worker threads run one task of a tenant at a time.
    targets.push(
      await estimateTarget(dependencies, { tenantId, parameters, rows: total, examples, measured }),
    );
  }
  return { targets, isMeasured: measured !== undefined };
}

/**
 * Estimates the output tokens of an answer from the model calls of the latest experiments on a dataset. Returns
 * `undefined` if there are none.
 */
async function measureOutputs(
  { store }: LaunchDependencies,
  tenantId: string,
  datasetId: string,
): Promise<Range | undefined> {
  const projects = await store.read.projects.list(tenantId, {
    referenceDatasetIds: [datasetId],
    sortBy: "start_time",
    isDescending: true,
    limit: measuredExperiments,
    offset: 0,
  });
  const mean = await store.read.experiments.measureOutputTokens(
    tenantId,
    projects.map(({ id }) => id),
  );
  return mean === null ? undefined : { low: mean / measuredSpread, high: mean * measuredSpread };
}

interface TargetInput {
  readonly tenantId: string;
  readonly parameters: LaunchParameters;
  readonly rows: number;
  readonly examples: readonly Example[];
  readonly measured: Range | undefined;
}

async function estimateTarget(
  dependencies: LaunchDependencies,
  { tenantId, parameters, rows, examples, measured }: TargetInput,
): Promise<TargetEstimate> {
  const { target, mapping, judges } = parameters;
  const { manifest, commit } = await readPromptCommit(
    dependencies.store.read.prompts,
    tenantId,
    parameters.prompt_commit,
  );
  const rendered: Rendered[] = [];
  for (const { inputs, outputs, metadata } of examples) {
    rendered.push(
      await dependencies.workThreads.run<RenderTask>(tenantId, {
        kind: "renderPrompt",
        manifest,
        example: { inputs, outputs, metadata },
        mapping,
      }),
    );
  }
  const charCounts = rendered.flatMap((prompt) => ("error" in prompt ? [] : [countChars(prompt)]));
  const inputTokens = toTokens(mean(charCounts));
  const outputTokens = limitOutput(measured ?? assumedAnswer, target);
  const calls: readonly EstimatedCall[] = [
    { choice: target, inputTokens, outputTokens },
    ...judges.map((judge) => {
      const exampleChars = mean(
        examples.map(({ inputs, outputs }) => inputs.length + (outputs?.length ?? 0)),
      );
      const tokensWithoutAnswer = toTokens(judge.template.length + exampleChars);
      return {
        choice: judge,
        inputTokens: {
          low: tokensWithoutAnswer.low + outputTokens.low,
          high: tokensWithoutAnswer.high + outputTokens.high,
        },
        outputTokens: limitOutput(assumedJudgement, judge),
      };
    }),
  ];
  return {
    name: target.name,
    prompt: commit,
    rows,
    inputTokens: multiply(sum(calls.map((call) => call.inputTokens)), rows),
    outputTokens: multiply(sum(calls.map((call) => call.outputTokens)), rows),
    cost: await priceCalls(dependencies, tenantId, { calls, rows }),
    preview: rendered[0] ?? { error: "the dataset has no examples", variables: [], paths: [] },
    failing: rendered.length - charCounts.length,
    sampled: rendered.length,
  };
}

interface EstimatedCall {
  readonly choice: ModelChoice;
  readonly inputTokens: Range;
  readonly outputTokens: Range;
}

async function priceCalls(
  { store, models }: LaunchDependencies,
  tenantId: string,
  { calls, rows }: { readonly calls: readonly EstimatedCall[]; readonly rows: number },
): Promise<Range | { readonly reason: string }> {
  const total = { low: 0, high: 0 };
  for (const { choice, inputTokens, outputTokens } of calls) {
    for (const end of ["low", "high"] as const) {
      const price: CallPrice = await store.read.prices.priceCall(tenantId, {
        model: choice.model,
        provider: findProvider(models.findEndpoint(choice.endpoint)) ?? null,
        inputTokens: Math.ceil(inputTokens[end]),
        outputTokens: Math.ceil(outputTokens[end]),
        timeMs: Date.now(),
      });
      if ("reason" in price) {
        return { reason: price.reason };
      }
      total[end] += price.total * rows;
    }
  }
  return total;
}

/** Counts the characters that are sent to the model, including the tools and the schema of the answer. */
const countChars = ({
  messages,
  saved,
  schema,
}: Extract<Rendered, { readonly messages: unknown }>): number =>
  messages.reduce((total, { content }) => total + content.length, 0) +
  [saved.tools, schema].reduce(
    (total, part) => total + (part === undefined ? 0 : JSON.stringify(part).length),
    0,
  );

const toTokens = (chars: number): Range => ({
  low: Math.ceil(chars / maxCharsPerToken),
  high: estimateTextTokens(chars) + 16,
});

const limitOutput = ({ low, high }: Range, { max_tokens: maxTokens }: ModelChoice): Range => {
  const limit = maxTokens ?? assumedOutputTokens;
  return { low: Math.min(low, limit), high: Math.min(high, limit) };
};

const sum = (ranges: readonly Range[]): Range => ({
  low: ranges.reduce((total, { low }) => total + low, 0),
  high: ranges.reduce((total, { high }) => total + high, 0),
});

const multiply = ({ low, high }: Range, factor: number): Range => ({
  low: Math.ceil(low * factor),
  high: Math.ceil(high * factor),
});

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((total, value) => total + value, 0) / values.length;
