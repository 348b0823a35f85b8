import { findSimilarNames } from "../similar-names.ts";
import { isId } from "../local-server/server-flags.ts";

/** Maximum number of existing names to compare with a name that was not found. */
export const maxComparedNames = 500;

/** Creates the message that a resource does not exist, with the most similar existing names and the hint, if any. */
export function describeMissing(
  kind: string,
  idOrName: string,
  { names, hint }: { readonly names: readonly string[]; readonly hint?: string | undefined },
): string {
  const similarNames = findSimilarNames(idOrName, names).map((name) => JSON.stringify(name));
  return [
    `there is no ${kind} ${isId(idOrName) ? "with the id " : ""}${JSON.stringify(idOrName)}`,
    ...(similarNames.length === 0 ? [] : [`did you mean ${similarNames.join(" or ")}?`]),
    ...(hint === undefined ? [] : [hint]),
  ].join("; ");
}
