import { formatCount } from "../../components/chart/chart-data.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { RunTypeBadge, StatusBadge } from "./run-badges.tsx";
import type { RunItem } from "./run-item.ts";

const notSortable = "Can't sort by this column. Use a filter to narrow the list.";

/** The columns of the list, with one for each metadata key and feedback key that occurs in the rows. */
export const toRunColumns = (
  metadataKeys: readonly string[],
  feedbackKeys: readonly string[],
): readonly Column<RunItem>[] => [
  {
    id: "name",
    title: "Name",
    cell: ({ name }) => toVisibleText(name),
    width: 180,
    grow: 2,
    isFixed: true,
    isNarrow: true,
    note: notSortable,
  },
  {
    id: "type",
    title: "Type",
    cell: ({ runType }) => <RunTypeBadge type={runType} />,
    width: 104,
    note: notSortable,
  },
  {
    id: "status",
    title: "Status",
    cell: ({ status }) => <StatusBadge status={status} />,
    width: 84,
    isNarrow: true,
    note: notSortable,
  },
  {
    id: "start",
    title: "Start",
    cell: ({ startMs }) => <span className="quiet">{formatTime(startMs)}</span>,
    width: 204,
    sort: "desc",
  },
  {
    id: "latency",
    title: "Latency",
    cell: ({ startMs, endMs }) => (endMs === undefined ? "" : formatDuration(endMs - startMs)),
    width: 84,
    align: "end",
    isNarrow: true,
    sort: "desc",
    note: "Time from start to end. Empty for running runs.",
  },
  {
    id: "first_token",
    title: "First token",
    cell: ({ startMs, firstTokenMs }) =>
      firstTokenMs === undefined ? "" : formatDuration(firstTokenMs - startMs),
    width: 92,
    align: "end",
    isShown: false,
    note: notSortable,
  },
  {
    id: "tokens",
    title: "Tokens",
    cell: ({ tokens }) => (tokens === undefined ? "" : formatCount(tokens)),
    width: 76,
    align: "end",
    note: notSortable,
  },
  {
    id: "cost",
    title: "Cost",
    cell: ({ cost }) => (cost === undefined ? "" : cost.toPrecision(3)),
    width: 76,
    align: "end",
    isShown: false,
    note: notSortable,
  },
  { id: "tags", title: "Tags", cell: ({ tags }) => <Tags tags={tags} />, width: 120, grow: 1 },
  textColumn({
    id: "error",
    title: "Error",
    read: ({ error }) => error?.split("\n", 1)[0],
    isShown: true,
  }),
  textColumn({ id: "inputs", title: "Inputs", read: ({ inputs }) => inputs, isShown: true }),
  textColumn({ id: "outputs", title: "Outputs", read: ({ outputs }) => outputs }),
  textColumn({ id: "id", title: "Run ID", read: ({ id }) => id }),
  textColumn({ id: "trace", title: "Trace ID", read: ({ traceId }) => traceId }),
  textColumn({ id: "parent", title: "Parent ID", read: ({ parentRunId }) => parentRunId }),
  textColumn({ id: "example", title: "Example ID", read: ({ exampleId }) => exampleId }),
  ...metadataKeys.map((key) =>
    textColumn({
      id: `metadata.${key}`,
      title: `metadata.${key}`,
      read: ({ metadata }) => metadata[key],
    }),
  ),
  ...feedbackKeys.map((key): Column<RunItem> => ({
    id: `feedback.${key}`,
    title: toVisibleText(key),
    cell: ({ feedback }) => <Feedback summary={feedback[key]} />,
    width: 92,
    align: "end",
    note: `Mean score of the feedback ${key}. ${notSortable}`,
  })),
];

function textColumn({
  id,
  title,
  read,
  isShown = false,
}: Pick<Column<RunItem>, "id" | "title" | "isShown"> & {
  readonly read: (run: RunItem) => string | undefined;
}): Column<RunItem> {
  return {
    id,
    title: toVisibleText(title),
    cell: (run) => (
      <span className={id === "error" ? "bad" : "quiet"}>{toVisibleText(read(run) ?? "")}</span>
    ),
    width: 160,
    grow: 2,
    isShown,
    note: notSortable,
  };
}

const Tags = ({ tags }: { readonly tags: readonly string[] }) => (
  <>
    {tags.map((tag) => (
      <span key={tag} className="tag">
        {toVisibleText(tag)}
      </span>
    ))}
  </>
);

const Feedback = ({ summary }: { readonly summary: RunItem["feedback"][string] | undefined }) => {
  if (summary === undefined) {
    return null;
  }
  return <>{summary.average === undefined ? `${summary.count}×` : formatCount(summary.average)}</>;
};

/** The fields of each run that the list requests. */
export const runFields = [
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "first_token_time",
  "trace_id",
  "parent_run_id",
  "reference_example_id",
  "total_tokens",
  "total_cost",
  "tags",
  "metadata",
  "feedback_stats",
  "error",
  "inputs",
  "outputs",
];

/** The most metadata or feedback columns. */
const keysMax = 40;

/** The keys that occur in records: the most frequent first, then by name; 40 at most. */
export function collectKeys(
  records: readonly Readonly<Record<string, unknown>>[],
): readonly string[] {
  const counts = new Map<string, number>();
  for (const key of records.flatMap(Object.keys)) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([keyA, countA], [keyB, countB]) => countB - countA || keyA.localeCompare(keyB))
    .slice(0, keysMax)
    .map(([key]) => key);
}
