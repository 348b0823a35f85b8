import type { ExampleChange, SplitChange } from "./example.ts";
import type { CurrentExample } from "./example-rows.ts";
import { readSplits } from "./splits.ts";

/**
 * Creates the change that adds an example to a split or removes it from the split; an empty change if nothing changes.
 */
export function toSplitChange(
  id: string,
  example: CurrentExample | undefined,
  { name, isRemoval }: Omit<SplitChange, "exampleIds">,
): ExampleChange {
  const splits = example === undefined ? [] : readSplits(example.metadata);
  const others = splits.filter((split) => split !== name);
  if (others.length < splits.length !== isRemoval) {
    return { id };
  }
  return { id, splits: isRemoval ? others : [...splits, name] };
}
