import { nestingOf } from "./json-sql.ts";
import { filterLimits } from "./parser.ts";

/** What an object that is looked for has too much of; `undefined` where it is within the bounds. */
export function excessOf(
  json: Readonly<Record<string, unknown>>,
  nestingMax: number = filterLimits.jsonNesting,
): string | undefined {
  const { nodes, jsonDepth } = filterLimits;
  if (countNodes(json, 1) > nodes) {
    return `more than ${nodes} values, or more than ${jsonDepth} levels`;
  }
  return nestingOf(json) > nestingMax
    ? `lists of lists or of objects, more than ${nestingMax} within one another`
    : undefined;
}

/** Values within a value, itself included; infinite where it is too deep. */
function countNodes(value: unknown, depth: number): number {
  if (depth > filterLimits.jsonDepth) {
    return Infinity;
  }
  return typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + countNodes(inner, depth + 1), 1)
    : 1;
}
