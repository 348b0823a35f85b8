import { formatDollars } from "../../../components/text/cost.ts";

/** The cost of a run in US dollars, and how the server determined it. */
export interface RunCost {
  /** The total, and the costs of the prompt and of the completion; `undefined` if they are unknown. */
  readonly total: number | undefined;
  readonly prompt: number | undefined;
  readonly completion: number | undefined;
  /** The parts of the cost of the prompt and of the completion, by name, such as "cache read". */
  readonly promptParts: CostParts;
  readonly completionParts: CostParts;
  /** The price that was used, in words; `undefined` for a cost that the run reports. */
  readonly price: string | undefined;
  /** Why the cost is unknown, as a sentence; `undefined` if it is known, or if the run has no usage. */
  readonly unknownReason: string | undefined;
  /** The model for which no price is known; `undefined` if the cost is known, or unknown for another reason. */
  readonly unpricedModel: string | undefined;
}

type CostParts = readonly (readonly [name: string, cost: number])[];
type JsonObject = Readonly<Record<string, unknown>>;

/** Parses the cost members of a run in a response of `GET /ui/trace-runs/:id`. */
export function parseRunCost(run: JsonObject): RunCost {
  const basis = toObject(run["cost_basis"]);
  return {
    total: toNumber(run["total_cost"]),
    prompt: toNumber(run["prompt_cost"]),
    completion: toNumber(run["completion_cost"]),
    promptParts: parseParts(run["prompt_cost_details"]),
    completionParts: parseParts(run["completion_cost_details"]),
    price: describePrice(basis),
    unknownReason: typeof basis["reason"] === "string" ? basis["reason"] : undefined,
    unpricedModel:
      typeof basis["reason"] === "string" && typeof basis["model"] === "string"
        ? basis["model"]
        : undefined,
  };
}

/** Describes the parts of a cost, one per line, for a tooltip. */
export function describeCost(cost: RunCost): string {
  const { prompt, completion, promptParts, completionParts, price } = cost;
  return [
    ...describeSide("Prompt", prompt, promptParts),
    ...describeSide("Completion", completion, completionParts),
    price === undefined ? "Reported by the run" : price,
  ].join("\n");
}

/**
 * Formats the cost of the prompt or of the completion: `$0.005 (cache read $0.001)`. Returns an empty text if the cost
 * is unknown.
 */
export function formatSide(cost: number | undefined, parts: CostParts): string {
  if (cost === undefined) {
    return "";
  }
  const partTexts = parts.map(([name, part]) => `${name} ${formatDollars(part)}`);
  return formatDollars(cost) + (partTexts.length === 0 ? "" : ` (${partTexts.join(", ")})`);
}

const describeSide = (
  name: string,
  cost: number | undefined,
  parts: CostParts,
): readonly string[] => (cost === undefined ? [] : [`${name}: ${formatSide(cost, parts)}`]);

function describePrice(basis: JsonObject): string | undefined {
  const { source, provider, model, tier } = basis;
  if (typeof model !== "string") {
    return undefined;
  }
  const name = typeof provider === "string" ? `${model} (${provider})` : model;
  const tierText = typeof tier === "string" ? `, ${tier}` : "";
  return `${source === "table" ? "Price table" : "Public price"}: ${name}${tierText}`;
}

const parseParts = (value: unknown): CostParts =>
  Object.entries(toObject(value)).flatMap(([name, cost]) =>
    typeof cost === "number" ? [[name.replaceAll("_", " "), cost] as const] : [],
  );

/** Converts a cost to a number. In responses, the costs of runs are decimal texts. */
function toNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

const toObject = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null ? { ...value } : {};
