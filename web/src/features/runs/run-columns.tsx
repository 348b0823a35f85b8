import { formatCount } from "../../components/chart/chart-data.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import { RunTypeBadge, StatusBadge } from "./run-badges.tsx";
import type { RunItem } from "./run-item.ts";

const noIndex = "The server keeps no order by this: narrow the list with a filter instead.";

/** The columns of the list; those of metadata and feedback are by the keys that the rows have. */
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
    note: noIndex,
  },
  {
    id: "type",
    title: "Type",
    cell: ({ runType }) => <RunTypeBadge type={runType} />,
    width: 104,
    note: noIndex,
  },
  {
    id: "status",
    title: "Status",
    cell: ({ status }) => <StatusBadge status={status} />,
    width: 84,
    isNarrow: true,
    note: noIndex,
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
    note: "From start to end. Runs that are open have none.",
  },
  {
    id: "first_token",
    title: "First token",
    cell: ({ startMs, firstTokenMs }) =>
      firstTokenMs === undefined ? "" : formatDuration(firstTokenMs - startMs),
    width: 92,
    align: "end",
    isShown: false,
    note: noIndex,
  },
  {
    id: "tokens",
    title: "Tokens",
    cell: ({ tokens }) => (tokens === undefined ? "" : formatCount(tokens)),
    width: 76,
    align: "end",
    note: noIndex,
  },
  {
    id: "cost",
    title: "Cost",
    cell: ({ cost }) => (cost === undefined ? "" : cost.toPrecision(3)),
    width: 76,
    align: "end",
    isShown: false,
    note: noIndex,
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
  textColumn({ id: "id", title: "Run id", read: ({ id }) => id }),
  textColumn({ id: "trace", title: "Trace id", read: ({ traceId }) => traceId }),
  textColumn({ id: "parent", title: "Parent id", read: ({ parentRunId }) => parentRunId }),
  textColumn({ id: "example", title: "Example id", read: ({ exampleId }) => exampleId }),
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
    note: `The mean score of the feedback ${key}. ${noIndex}`,
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
    note: noIndex,
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

/** The members of a run that the server is asked for. */
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

const keysMax = 40;

/** Keys that rows have, the most frequent first, then by name. */
export function keysIn(records: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const key of records.flatMap(Object.keys)) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([one, a], [other, b]) => b - a || one.localeCompare(other))
    .slice(0, keysMax)
    .map(([key]) => key);
}
