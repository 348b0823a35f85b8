import type { KeyValues } from "../../main/index.ts";
import { isObject, readNumber, readObject, withoutUndefined } from "./values.ts";

/** Token counts with the names of any version of the AI SDK. */
type Usage = KeyValues;

/**
 * Converts token counts to the usage metadata of a run; `undefined` if there are none. Cached tokens are counted once,
 * as part of the input tokens. The AI SDK reports usage in three formats: with `inputTokenDetails` (events of version 7
 * and results of version 6), with `inputTokens: { total, … }` (the end of a model's stream), and as flat numbers
 * (version 5).
 */
export function toUsageMetadata(value: unknown, providerMetadata?: unknown): KeyValues | undefined {
  const usage = flatten(readObject(value));
  const { cacheRead, reasoning, output } = usage;
  const { input, cacheWrite } = includeCached(usage, providerMetadata);
  const total = usage.total ?? (input === undefined ? undefined : input + (output ?? 0));
  const inputDetails = withoutUndefined({ cache_read: cacheRead, cache_creation: cacheWrite });
  const metadata = withoutUndefined({
    input_tokens: input,
    output_tokens: output,
    total_tokens:
      total === undefined || input === undefined ? total : Math.max(total, input + (output ?? 0)),
    input_token_details: isEmpty(inputDetails) ? undefined : inputDetails,
    output_token_details: reasoning === undefined ? undefined : { reasoning },
  });
  return isEmpty(metadata) ? undefined : metadata;
}

interface FlatUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly reasoning: number | undefined;
}

function flatten(usage: Usage): FlatUsage {
  const { inputTokens, outputTokens } = usage;
  const input = isObject(inputTokens) ? inputTokens : {};
  const output = isObject(outputTokens) ? outputTokens : {};
  const inputDetails = readObject(usage["inputTokenDetails"]);
  const outputDetails = readObject(usage["outputTokenDetails"]);
  return {
    input: firstNumber(
      input["total"],
      inputTokens,
      usage["promptTokens"],
      // Embedding models report this member.
      usage["tokens"],
    ),
    output: firstNumber(output["total"], outputTokens, usage["completionTokens"]),
    total: firstNumber(usage["totalTokens"], usage["tokens"]),
    cacheRead: firstNumber(
      input["cacheRead"],
      inputDetails["cacheReadTokens"],
      usage["cachedInputTokens"],
    ),
    cacheWrite: firstNumber(input["cacheWrite"], inputDetails["cacheWriteTokens"]),
    reasoning: firstNumber(
      output["reasoning"],
      outputDetails["reasoningTokens"],
      usage["reasoningTokens"],
    ),
  };
}

/**
 * Adds cached tokens to the input tokens if they are not included yet. Version 5 reports Anthropic's `input_tokens`,
 * which do not include cached tokens. It reports the tokens that were written to the cache only in the provider's
 * metadata.
 */
function includeCached(
  { input, cacheRead, cacheWrite }: FlatUsage,
  providerMetadata: unknown,
): Pick<FlatUsage, "input" | "cacheWrite"> {
  const usage = readObject(readObject(readObject(providerMetadata)["anthropic"])["usage"]);
  const cachedTokens = readNumber(usage["cache_read_input_tokens"]) ?? cacheRead ?? 0;
  const written = readNumber(usage["cache_creation_input_tokens"]) ?? cacheWrite ?? 0;
  const isExclusive =
    input !== undefined && (usage["input_tokens"] === input || cachedTokens + written > input);
  return {
    input: isExclusive ? input + cachedTokens + written : input,
    cacheWrite: cacheWrite ?? (written === 0 ? undefined : written),
  };
}

const firstNumber = (...values: readonly unknown[]): number | undefined =>
  values.map(readNumber).find((value) => value !== undefined);

const isEmpty = (members: KeyValues): boolean => Object.keys(members).length === 0;
