import { toPrintable } from "../to-printable.ts";
import { maxReasonLength, rowKinds } from "./model/tally.ts";
import type { Tally } from "./model/tally.ts";

const formatCount = (count: number): string => count.toLocaleString("en");

/** Formats the counts of an import by kind, and the reasons why rows were left out. */
export function formatReport(
  tally: Tally,
  { isDryRun, seconds }: { readonly isDryRun: boolean; readonly seconds: number },
): string {
  const lines = rowKinds.flatMap((kind) => {
    const { imported, existing, leftOut } = tally.read(kind);
    if (imported + existing + leftOut === 0) {
      return [];
    }
    const counts = [
      `${formatCount(imported)} ${isDryRun ? "would be imported" : "imported"}`,
      ...(existing === 0 ? [] : [`${formatCount(existing)} already on the server`]),
      ...(leftOut === 0 ? [] : [`${formatCount(leftOut)} left out`]),
    ];
    const reasons = [...tally.readReasons(kind)].map(([reason, { count, example }]) => {
      // The example comes from the source server. JSON escapes its control characters, so they can't move the cursor.
      const row = example === undefined ? "" : `, such as ${JSON.stringify(example)}`;
      return `  ${formatCount(count)} left out${row}: ${toPrintable(reason, maxReasonLength)}`;
    });
    return [`${kind}: ${counts.join(", ")}`, ...reasons];
  });
  const end = lines.length === 0 ? "there was nothing to import" : `in ${seconds.toFixed(1)} s`;
  return [...lines, end].map((line) => `${line}\n`).join("");
}
