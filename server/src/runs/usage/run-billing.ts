import type { RunBilling, TokenDetails } from "./run-cost.ts";

/** Finds the members of a JSON object; an empty map for anything else. */
type ReadMembers = (json: Buffer | undefined) => ReadonlyMap<string, Buffer>;
type JsonObject = Readonly<Record<string, unknown>>;

/** The members of a run from which {@link readBilling} reads the facts that determine its price. */
export interface BillingSources {
  readonly outputs: ReadonlyMap<string, Buffer>;
  readonly extra: ReadonlyMap<string, Buffer>;
  readonly metadata: ReadonlyMap<string, Buffer>;
  /** `response_metadata` of the message of a chat model in LangChain. */
  readonly responseMetadata: ReadonlyMap<string, Buffer>;
  /** The reported usages, the one that takes precedence first. */
  readonly usages: readonly JsonObject[];
}

/** Maximum number of bytes of the JSON of a name, such as a model's. Longer texts are ignored. */
const maxNameBytes = 256;

/** Reads the facts on which the price of a model call depends. */
export function readBilling(sources: BillingSources, readMembers: ReadMembers): RunBilling {
  const { outputs, extra, metadata, responseMetadata, usages } = sources;
  const params = readMembers(extra.get("invocation_params"));
  const llmOutput = readMembers(outputs.get("llm_output") ?? outputs.get("llmOutput"));
  const models = [
    metadata.get("ls_model_name"),
    params.get("model"),
    params.get("model_name"),
    responseMetadata.get("model_name"),
    responseMetadata.get("model"),
    llmOutput.get("model_name"),
    llmOutput.get("model"),
    outputs.get("model"),
  ].flatMap((json) => readText(json) ?? []);
  const usage = usages.find((reported) => isObject(reported["input_token_details"])) ?? {};
  const outputUsage = usages.find((reported) => isObject(reported["output_token_details"])) ?? {};
  const input = readDetails(usage["input_token_details"]);
  const output = readDetails(outputUsage["output_token_details"]);
  const reportedTier = usages.map((reported) => reported["service_tier"]).find(isText);
  const tier =
    reportedTier ??
    readText(outputs.get("service_tier")) ??
    readText(responseMetadata.get("service_tier")) ??
    readText(metadata.get("service_tier")) ??
    readText(params.get("service_tier")) ??
    input.tier ??
    output.tier;
  return {
    models: [...new Set(models)],
    provider: readText(metadata.get("ls_provider")) ?? null,
    serviceTier: tier === undefined ? undefined : toServiceTier(tier),
    details: toTokenDetails(input.counts, output.counts),
  };
}

/** Adds the billing facts in the `extra` of an earlier record of the run to those of a later record without `extra`. */
export const addExtraBilling = (billing: RunBilling, extraBilling: RunBilling): RunBilling => ({
  models: [...new Set([...extraBilling.models, ...billing.models])],
  provider: extraBilling.provider,
  serviceTier: billing.serviceTier === undefined ? extraBilling.serviceTier : billing.serviceTier,
  details: billing.details,
});

/** Names that providers use for their standard tier, or for leaving the choice to them. */
const standardTiers: ReadonlySet<string> = new Set([
  "",
  "auto",
  "default",
  "on_demand",
  "standard",
  "standard_only",
]);

const toServiceTier = (tier: string): string | null => {
  const name = tier.slice(0, maxNameBytes).trim().toLowerCase();
  return standardTiers.has(name) ? null : name;
};

/**
 * Matches names of token details that begin with a service tier, such as `flex_cache_read`. `flex` itself counts all
 * tokens of that tier.
 */
const tieredDetailPattern = /^(flex|priority)(?:_(.+))?$/;

interface Details {
  readonly counts: ReadonlyMap<string, number>;
  readonly tier: string | undefined;
}

function readDetails(value: unknown): Details {
  const counts = new Map<string, number>();
  let tier: string | undefined;
  for (const [name, count] of isObject(value) ? Object.entries(value) : []) {
    if (typeof count === "number") {
      const [, tierOfName, rest = ""] = tieredDetailPattern.exec(name) ?? [];
      tier = count > 0 ? (tierOfName ?? tier) : tier;
      counts.set(tierOfName === undefined ? name : rest, count);
    }
  }
  return { counts, tier };
}

function toTokenDetails(input: Details["counts"], output: Details["counts"]): TokenDetails {
  const hourTokens = input.get("ephemeral_1h_input_tokens") ?? 0;
  const fiveMinuteTokens = input.get("ephemeral_5m_input_tokens") ?? 0;
  const reportedWrites = input.get("cache_creation") ?? input.get("cache_write") ?? 0;
  return {
    cacheRead: input.get("cache_read") ?? 0,
    // Some libraries report the tokens written to the cache only by their lifetimes, others also as a sum.
    cacheWrite:
      reportedWrites < 0 ? reportedWrites : Math.max(reportedWrites, hourTokens + fiveMinuteTokens),
    cacheWriteHour: hourTokens,
    inputAudio: input.get("audio") ?? 0,
    reasoning: output.get("reasoning") ?? 0,
    outputAudio: output.get("audio") ?? 0,
  };
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string";

const quote = 0x22;

function readText(json: Buffer | undefined): string | undefined {
  if (json === undefined || json[0] !== quote || json.length > maxNameBytes) {
    return undefined;
  }
  const text = String(JSON.parse(json.toString("utf8"))).trim();
  return text === "" ? undefined : text;
}
