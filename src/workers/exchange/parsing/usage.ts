import type { Warnings } from "./warnings.ts";
import { isJsonObject } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";

/**
 * Token counts as runs record them. The input tokens include those that were read from a cache or written to it, each
 * counted once.
 */
export interface UsageMetadata {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly input_token_details?: Readonly<Record<string, number>>;
  readonly output_token_details?: Readonly<Record<string, number>>;
}

/** Where a provider may report a number: an object, and the name of its member. */
type ReportedCount = readonly [owner: unknown, name: string];

/** Where the response of a provider reports its token counts. Of several places the first that has a number is used. */
export interface UsagePlaces {
  readonly input: readonly ReportedCount[];
  readonly output: readonly ReportedCount[];
  readonly total: readonly ReportedCount[];
  readonly inputDetails: Readonly<Record<string, readonly ReportedCount[]>>;
  readonly outputDetails: Readonly<Record<string, readonly ReportedCount[]>>;
}

/**
 * Reads the token counts. Numbers that contradict each other are kept as they were reported, with a warning. Returns
 * `undefined` if none are reported.
 */
export function readUsage(places: UsagePlaces, warnings: Warnings): UsageMetadata | undefined {
  const input = readCount(places.input, warnings);
  let output = readCount(places.output, warnings);
  let total = readCount(places.total, warnings);
  const inputDetails = readDetails(places.inputDetails, warnings);
  const outputDetails = readDetails(places.outputDetails, warnings);
  if (input === undefined && output === undefined && total === undefined) {
    return undefined;
  }
  const reasoning = outputDetails["reasoning"] ?? 0;
  if (reasoning > 0 && total === (input ?? 0) + (output ?? 0) + reasoning) {
    // Some servers with OpenAI's format do not include the reasoning tokens in the output tokens.
    output = (output ?? 0) + reasoning;
  }
  if (total === undefined && input !== undefined) {
    total = input + (output ?? 0);
  }
  const usage = {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(total === undefined ? {} : { total_tokens: total }),
    ...(Object.keys(inputDetails).length === 0 ? {} : { input_token_details: inputDetails }),
    ...(Object.keys(outputDetails).length === 0 ? {} : { output_token_details: outputDetails }),
  };
  checkUsage(usage, warnings);
  return usage;
}

function checkUsage(usage: UsageMetadata, warnings: Warnings): void {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  if (
    input !== undefined &&
    output !== undefined &&
    total !== undefined &&
    total !== input + output
  ) {
    warnings.add(
      `The usage contradicts itself: ${total} tokens in total are not ${input} input and ${output} output tokens.`,
    );
  }
  const cacheRead = usage.input_token_details?.["cache_read"] ?? 0;
  const cacheWritten = usage.input_token_details?.["cache_creation"] ?? 0;
  if (input !== undefined && cacheRead + cacheWritten > input) {
    warnings.add(
      `The usage contradicts itself: ${cacheRead + cacheWritten} cached tokens are more than ${input} input tokens.`,
    );
  }
  const reasoning = usage.output_token_details?.["reasoning"] ?? 0;
  if (output !== undefined && reasoning > output) {
    warnings.add(
      `The usage contradicts itself: ${reasoning} reasoning tokens are more than ${output} output tokens.`,
    );
  }
}

/** Reads details that are reported and not zero. */
function readDetails(
  places: Readonly<Record<string, readonly ReportedCount[]>>,
  warnings: Warnings,
): Record<string, number> {
  const details: Record<string, number> = {};
  for (const [name, reported] of Object.entries(places)) {
    const count = readCount(reported, warnings) ?? 0;
    if (count > 0) {
      details[name] = count;
    }
  }
  return details;
}

/** Reads the first number that is reported. A value that can't be a number of tokens is left out, with a warning. */
export function readCount(
  places: readonly ReportedCount[],
  warnings: Warnings,
): number | undefined {
  for (const [owner, name] of places) {
    const value = isJsonObject(owner) && Object.hasOwn(owner, name) ? owner[name] : undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
      return value;
    }
    if (value !== undefined && value !== null) {
      warnings.add(`The usage reports a value of ${name} that is not a number of tokens.`);
    }
  }
  return undefined;
}

/**
 * Reads the usage of OpenAI's APIs. Chat completions, text completions and embeddings use names with `prompt` and
 * `completion`, the other APIs names with `input` and `output`.
 */
export function readOpenAiUsage(
  response: JsonObject,
  warnings: Warnings,
): UsageMetadata | undefined {
  const usage = response["usage"];
  if (!isJsonObject(usage)) {
    return undefined;
  }
  const inputDetails =
    usage["prompt_tokens_details"] ?? usage["input_tokens_details"] ?? usage["input_token_details"];
  const outputDetails =
    usage["completion_tokens_details"] ??
    usage["output_tokens_details"] ??
    usage["output_token_details"];
  return readUsage(
    {
      input: [
        [usage, "prompt_tokens"],
        [usage, "input_tokens"],
      ],
      output: [
        [usage, "completion_tokens"],
        [usage, "output_tokens"],
      ],
      total: [[usage, "total_tokens"]],
      inputDetails: {
        cache_read: [
          [inputDetails, "cached_tokens"],
          // The name that DeepSeek's API uses.
          [usage, "prompt_cache_hit_tokens"],
        ],
        cache_creation: [[inputDetails, "cache_write_tokens"]],
        audio: [[inputDetails, "audio_tokens"]],
        image: [[inputDetails, "image_tokens"]],
      },
      outputDetails: {
        reasoning: [[outputDetails, "reasoning_tokens"]],
        audio: [[outputDetails, "audio_tokens"]],
        image: [[outputDetails, "image_tokens"]],
      },
    },
    warnings,
  );
}
