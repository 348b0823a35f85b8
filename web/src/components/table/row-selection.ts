/** What a click with or without shift makes of a selection. */
export interface SelectionStep {
  readonly ids: readonly string[];
  /** The row that is turned on or off. */
  readonly id: string;
  /** Where the last step was; a range begins there. */
  readonly anchor: string | undefined;
  readonly isRange: boolean;
}

/** Turns a row on or off; with a range all rows from the anchor to it become what it becomes. */
export function toggleRow(
  selected: ReadonlySet<string>,
  { ids, id, anchor, isRange }: SelectionStep,
): ReadonlySet<string> {
  const isOn = !selected.has(id);
  const from = anchor === undefined ? -1 : ids.indexOf(anchor);
  const to = ids.indexOf(id);
  const range =
    isRange && from !== -1 && to !== -1
      ? ids.slice(Math.min(from, to), Math.max(from, to) + 1)
      : [id];
  const next = new Set(selected);
  for (const one of range) {
    if (isOn) {
      next.add(one);
    } else {
      next.delete(one);
    }
  }
  return next;
}
