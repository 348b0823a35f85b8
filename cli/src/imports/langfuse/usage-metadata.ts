import type { KeyValues } from "millrace/model";
import { omitUndefined } from "../../omit-undefined.ts";
import { toNumber, toObject } from "../model/json-values.ts";

/**
 * Maps the names with which clients of Langfuse report parts of the input or output tokens to the names in usage
 * metadata.
 */
const details: readonly {
  readonly pattern: RegExp;
  readonly side: "input" | "output";
  readonly name: string;
}[] = [
  { pattern: /cache_?read|cached/, side: "input", name: "cache_read" },
  { pattern: /cache_?(?:creation|write)/, side: "input", name: "cache_creation" },
  { pattern: /(?:input|prompt)_?audio/, side: "input", name: "audio" },
  { pattern: /(?:output|completion)_?audio/, side: "output", name: "audio" },
  { pattern: /reasoning/, side: "output", name: "reasoning" },
];

interface Sums {
  readonly total: number | undefined;
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly inputDetails: Readonly<Record<string, number>>;
  readonly outputDetails: Readonly<Record<string, number>>;
}

/**
 * Converts the usage and the costs of an observation to usage metadata. Langfuse's `input` does not include cached
 * tokens. In usage metadata, the input tokens include them, and the details list them separately.
 */
export function toUsageMetadata(observation: KeyValues): KeyValues | undefined {
  const usage = sum(toObject(observation["usageDetails"]));
  const cost = sum(toObject(observation["costDetails"]));
  const metadata = omitUndefined({
    input_tokens: usage.input,
    output_tokens: usage.output,
    total_tokens: usage.total,
    input_token_details: toDetails(usage.inputDetails),
    output_token_details: toDetails(usage.outputDetails),
    input_cost: cost.input,
    output_cost: cost.output,
    total_cost: cost.total ?? toNumber(observation["totalCost"]),
  });
  return Object.keys(metadata).length === 0 ? undefined : metadata;
}

function sum(numbers: KeyValues): Sums {
  const inputDetails: Record<string, number> = {};
  const outputDetails: Record<string, number> = {};
  let [input, output, total, others]: (number | undefined)[] = [];
  for (const [key, value] of Object.entries(numbers)) {
    const count = toNumber(value);
    if (count === undefined) {
      continue;
    }
    const name = key.toLowerCase();
    const detail = details.find(({ pattern }) => pattern.test(name));
    const tokenKind = detail?.side ?? findSide(name);
    if (detail !== undefined) {
      const target = detail.side === "input" ? inputDetails : outputDetails;
      target[detail.name] = (target[detail.name] ?? 0) + count;
    }
    if (name === "total") {
      total = count;
    } else if (tokenKind === "input") {
      input = (input ?? 0) + count;
    } else if (tokenKind === "output") {
      output = (output ?? 0) + count;
    } else {
      others = (others ?? 0) + count;
    }
  }
  const parts = [input, output, others].filter((part) => part !== undefined);
  const partsTotal =
    parts.length === 0 ? undefined : parts.reduce((left, right) => left + right, 0);
  return { total: total ?? partsTotal, input, output, inputDetails, outputDetails };
}

function findSide(name: string): "input" | "output" | undefined {
  if (/^(?:input|prompt)/.test(name)) {
    return "input";
  }
  return /^(?:output|completion)/.test(name) ? "output" : undefined;
}

const toDetails = (
  numbers: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> | undefined =>
  Object.keys(numbers).length === 0 ? undefined : numbers;
