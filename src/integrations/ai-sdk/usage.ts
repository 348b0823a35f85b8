import type { KeyValues } from "../../main/index.ts";
import { isObject, readNumber, readObject, withoutUndefined } from "./values.ts";

/** Token counts with the names that the AI SDK uses in one of its versions. */
type Usage = KeyValues;

/**
 * Converts token counts to those of a run; `undefined` if there are none. The input tokens include the cached ones once.
 * The AI SDK has reported usage in three forms: an event of version 7 and a result of 6 (`inputTokenDetails`), the end of a
 * model's stream (`inputTokens: { total, … }`), and flat numbers (version 5).
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
      // Of an embedding
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
 * Version 5 reports Anthropic's own `input_tokens`, which do not include the cached ones, and reports the tokens that
 * were written to the cache only in the metadata of the provider.
 */
function includeCached(
  { input, cacheRead, cacheWrite }: FlatUsage,
  providerMetadata: unknown,
): Pick<FlatUsage, "input" | "cacheWrite"> {
  const usage = readObject(readObject(readObject(providerMetadata)["anthropic"])["usage"]);
  const read = readNumber(usage["cache_read_input_tokens"]) ?? cacheRead ?? 0;
  const written = readNumber(usage["cache_creation_input_tokens"]) ?? cacheWrite ?? 0;
  const isExclusive =
    input !== undefined && (usage["input_tokens"] === input || read + written > input);
  return {
    input: isExclusive ? input + read + written : input,
    cacheWrite: cacheWrite ?? (written === 0 ? undefined : written),
  };
}

const firstNumber = (...values: readonly unknown[]): number | undefined =>
  values.map(readNumber).find((value) => value !== undefined);

const isEmpty = (members: KeyValues): boolean => Object.keys(members).length === 0;
