import { measureListNesting } from "./json-sql.ts";
import { filterLimits } from "./parser.ts";

/** Describes the limit that a JSON object in a filter exceeds. Returns `undefined` if the object exceeds none. */
export function describeExcess(
  json: Readonly<Record<string, unknown>>,
  nestingMax: number = filterLimits.jsonNesting,
): string | undefined {
  const { nodes, jsonDepth } = filterLimits;
  if (countNodes(json, 1) > nodes) {
    return `more than ${nodes} values, or more than ${jsonDepth} levels`;
  }
  return measureListNesting(json) > nestingMax
    ? `more than ${nestingMax} nested lists of lists or objects`
    : undefined;
}

/** Counts the values within a value, itself included; infinite if it is nested too deeply. */
function countNodes(value: unknown, depth: number): number {
  if (depth > filterLimits.jsonDepth) {
    return Infinity;
  }
  return typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + countNodes(inner, depth + 1), 1)
    : 1;
}
