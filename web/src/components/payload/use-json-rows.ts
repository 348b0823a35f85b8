import { useCallback, useMemo, useState } from "react";
import type { JsonRow } from "./json-tree.ts";
import type { PayloadSource } from "./payload-source.ts";
import { shownOf, useAnswer } from "./use-async-value.ts";

interface Window {
  readonly from: number;
  readonly rows: readonly JsonRow[];
}

/** Rows are read so many at a time: a step of the scroll then mostly finds them there. */
const blockRows = 100;

/** How many lines a value has, and those around the ones in view. */
export interface JsonRows {
  readonly count: number;
  readonly rowAt: (index: number) => JsonRow | undefined;
  /** Must be called with what is in view. */
  readonly onView: (first: number, last: number) => void;
  /** After anything was opened or closed. */
  readonly onChange: () => void;
  readonly error: Error | undefined;
}

export function useJsonRows(source: PayloadSource): JsonRows {
  const [version, setVersion] = useState(0);
  const [block, setBlock] = useState({ from: 0, to: blockRows * 2 });
  // oxlint-disable-next-line react/exhaustive-deps -- asked anew when the value was opened or closed
  const count = useAnswer(useMemo(() => source.count(), [source, version]));
  const answer = useMemo(() => {
    const { from, to } = block;
    const rows = source.rows(from, to);
    const place = (found: readonly JsonRow[]): Window => ({ from, rows: found });
    return rows instanceof Promise ? rows.then(place) : place(rows);
    // oxlint-disable-next-line react/exhaustive-deps -- as above
  }, [source, version, block]);
  const state = useAnswer(answer);
  // What was there before stays until the next is here, so that nothing flickers.
  const window = shownOf(state);
  const onView = useCallback((first: number, end: number) => {
    const from = Math.max(0, Math.floor(first / blockRows) - 1) * blockRows;
    const to = (Math.floor(end / blockRows) + 2) * blockRows;
    setBlock((known) => (known.from === from && known.to === to ? known : { from, to }));
  }, []);
  return {
    count: shownOf(count) ?? 0,
    rowAt: (index) => window?.rows[index - window.from],
    onView,
    onChange: useCallback(() => setVersion((known) => known + 1), []),
    error: state.kind === "failed" ? state.error : undefined,
  };
}
