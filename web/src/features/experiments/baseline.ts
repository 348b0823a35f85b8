import { useLocalStorage } from "@mantine/hooks";
import { isId } from "../../api/parse.ts";

/**
 * The id of the experiment that the user pinned as the baseline of a dataset, and a function that changes it. The id is
 * empty if no experiment is pinned. The browser stores it.
 */
export function usePinnedBaseline(datasetId: string): readonly [string, (id: string) => void] {
  const [id, setId] = useLocalStorage({
    key: `millrace.baseline.${datasetId}`,
    defaultValue: "",
    getInitialValueInEffect: false,
  });
  return [isId(id) ? id : "", setId];
}

/**
 * Returns the id of the baseline of a comparison whose URL names none: the pinned experiment, or else the experiment
 * that started first.
 */
export function chooseBaseline(
  experimentIds: readonly string[],
  pinnedId: string,
  startMsById: ReadonlyMap<string, number>,
): string {
  if (experimentIds.includes(pinnedId)) {
    return pinnedId;
  }
  const getStartMs = (id: string): number => startMsById.get(id) ?? Infinity;
  return experimentIds.toSorted((left, right) => getStartMs(left) - getStartMs(right))[0] ?? "";
}
