import type { userKeys } from "millrace/model";
import type { ReactNode } from "react";
import { formatDollars } from "../../components/text/cost.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { formatDuration } from "../../components/time/time.ts";
import { FeedbackFigure } from "./feedback-summary.tsx";
import { RunTypeBadge, StatusBadge } from "./run-badges.tsx";
import type { RunItem } from "./run-item.ts";
import { toPreviewText } from "./run-preview.ts";

/** The metadata keys that name the user of a run. */
const userMetadataKeys: typeof userKeys = ["user_id", "langfuse_user_id"];

const notSortableTooltip = "Can't sort by this column. Use a filter to narrow the list.";

/**
 * Returns the columns of the list, with a column for each metadata key and feedback key that occurs in the rows. The
 * type is hidden by default in a list of traces, which mostly have the same type. The first token and the tags are
 * hidden by default in a list of medium width, as is feedback, because they would leave no space for the preview.
 */
export const toRunColumns = ({
  isRootOnly,
  isWide,
  hasFirstToken = isWide,
  metadataKeys,
  feedbackKeys,
  formatCost = formatDollars,
}: {
  readonly isRootOnly: boolean;
  readonly isWide: boolean;
  /** Whether the time to the first token is shown by default. @defaultValue `isWide` */
  readonly hasFirstToken?: boolean;
  readonly metadataKeys: readonly string[];
  readonly feedbackKeys: readonly string[];
  /** The format that all costs of the column share. */
  readonly formatCost?: (cost: number) => string;
}): readonly Column<RunItem>[] => [
  {
    id: "name",
    title: "Name",
    renderCell: ({ name }) => toVisibleText(name),
    width: 128,
    grow: 1,
    isFixed: true,
    isShownWhenNarrow: true,
    tooltip: notSortableTooltip,
  },
  {
    id: "status",
    title: "Status",
    renderCell: ({ status }) => <StatusBadge status={status} isCompact />,
    width: 80,
    isShownWhenNarrow: true,
    tooltip: notSortableTooltip,
  },
  {
    id: "preview",
    title: "Input → output",
    renderCell: (run) => <RunPreview run={run} />,
    width: 180,
    grow: 5,
    tooltip: `The beginning of the input, and the beginning of the output or error. ${notSortableTooltip}`,
  },
  {
    id: "type",
    title: "Type",
    renderCell: ({ runType }) => <RunTypeBadge type={runType} />,
    width: 104,
    isShown: !isRootOnly,
    tooltip: notSortableTooltip,
  },
  {
    id: "model",
    title: "Model",
    renderCell: ({ models }) => <Models models={models} />,
    width: 104,
    tooltip: `Models that were called. ${notSortableTooltip}`,
  },
  {
    id: "latency",
    title: "Latency",
    renderCell: ({ startMs, endMs }) =>
      endMs === undefined ? "" : formatDuration(endMs - startMs),
    width: 80,
    align: "end",
    isShownWhenNarrow: true,
    sort: "desc",
    tooltip: "Time from start to end. Empty for runs that have not ended.",
  },
  {
    id: "first_token",
    title: "First token",
    renderCell: ({ startMs, firstTokenMs }) =>
      firstTokenMs === undefined ? "" : formatDuration(Math.max(0, firstTokenMs - startMs)),
    width: 88,
    align: "end",
    isShown: hasFirstToken,
    tooltip: `Time from the start to the first token. ${notSortableTooltip}`,
  },
  {
    id: "tokens",
    title: "Tokens",
    renderCell: ({ tokens, isUsagePartial }) =>
      tokens === undefined ? "" : `${isUsagePartial ? "≥ " : ""}${formatCount(tokens)}`,
    width: 70,
    align: "end",
    tooltip: `Tokens of the run. For a trace, the tokens of all its model calls. ${notSortableTooltip}`,
  },
  {
    id: "cost",
    title: "Cost",
    renderCell: (run) => <Cost run={run} formatCost={formatCost} />,
    // Wide enough for costs with six digits after the point, such as `$12.000045`.
    width: 104,
    align: "end",
    tooltip: `Cost of the run in US dollars. For a trace, the cost of all its model calls. ${notSortableTooltip}`,
  },
  {
    id: "tags",
    title: "Tags",
    renderCell: ({ tags }) => <TagList tags={tags} />,
    width: 120,
    isShown: isWide,
  },
  {
    id: "start",
    title: "Start",
    renderCell: ({ startMs }) => (
      <span className="quiet">
        <Ago timeMs={startMs} />
      </span>
    ),
    width: 92,
    align: "end",
    sort: "desc",
  },
  createTextColumn({
    id: "user",
    title: "User",
    read: ({ metadata }) =>
      [...new Set(userMetadataKeys.flatMap((key) => metadata[key] ?? []))].join(", "),
  }),
  createTextColumn({
    id: "error",
    title: "Error",
    read: ({ error }) => error?.split("\n", 1)[0],
  }),
  createTextColumn({ id: "inputs", title: "Inputs", read: ({ inputs }) => inputs }),
  createTextColumn({ id: "outputs", title: "Outputs", read: ({ outputs }) => outputs }),
  createTextColumn({ id: "id", title: "Run ID", read: ({ id }) => id }),
  createTextColumn({ id: "trace", title: "Trace ID", read: ({ traceId }) => traceId }),
  createTextColumn({ id: "parent", title: "Parent ID", read: ({ parentRunId }) => parentRunId }),
  createTextColumn({ id: "example", title: "Example ID", read: ({ exampleId }) => exampleId }),
  ...metadataKeys.map((key) =>
    createTextColumn({
      id: `metadata.${key}`,
      title: `metadata.${key}`,
      read: ({ metadata }) => metadata[key],
    }),
  ),
  ...feedbackKeys.map((key): Column<RunItem> => ({
    id: `feedback.${key}`,
    title: toVisibleText(key),
    renderCell: ({ feedback: { [key]: summary } }) =>
      summary === undefined ? null : <FeedbackFigure summary={summary} />,
    width: 72,
    align: "end",
    isShown: isWide,
    tooltip: `Mean score of the feedback ${key}, or its most frequent value. ${notSortableTooltip}`,
  })),
];

/** A preview of the run, and its models, tokens, cost and start: for narrow screens, which show few columns. */
export const renderRunDetail = (run: RunItem): ReactNode => (
  <>
    <RunPreview run={run} />
    <span className="quiet">
      {run.models.length > 0 && (
        <>
          <Models models={run.models} /> ·{" "}
        </>
      )}
      {run.firstTokenMs !== undefined &&
        `first token ${formatDuration(Math.max(0, run.firstTokenMs - run.startMs))} · `}
      {run.tokens !== undefined && `${formatCount(run.tokens)} tokens · `}
      {run.cost !== undefined && (
        <>
          <Cost run={run} /> ·{" "}
        </>
      )}
      <Ago timeMs={run.startMs} />
    </span>
  </>
);

/** The beginning of a run's input, and the beginning of its output. For a failed run, the error replaces the output. */
export const RunPreview = ({ run: { inputs, outputs, error } }: { readonly run: RunItem }) => {
  const [input, output] = [toPreviewText(inputs), toPreviewText(outputs)];
  const errorLine = error?.split("\n", 1)[0] ?? "";
  return (
    <span className="run-preview">
      <span>{toVisibleText(input)}</span>
      {(output !== "" || errorLine !== "") && <span className="quiet"> → </span>}
      {errorLine === "" ? (
        <span className="quiet">{toVisibleText(output)}</span>
      ) : (
        <span className="bad">{toVisibleText(errorLine)}</span>
      )}
    </span>
  );
};

/** The cost of a run. If a run called models and used tokens, but has no cost, its cost is unknown, not zero. */
const Cost = ({
  run: { cost, tokens = 0, models, isUsagePartial },
  formatCost = formatDollars,
}: {
  readonly run: RunItem;
  readonly formatCost?: (cost: number) => string;
}) => {
  if (cost !== undefined) {
    return `${isUsagePartial ? "≥ " : ""}${formatCost(cost)}`;
  }
  return tokens > 0 && models.length > 0 ? (
    <span
      className="absent"
      title="The cost of the model calls is unknown. Open the run to see why."
    >
      Unknown
    </span>
  ) : (
    ""
  );
};

const Models = ({ models }: { readonly models: readonly string[] }) => (
  <span className="quiet" title={models.length > 1 ? toVisibleText(models.join(", ")) : undefined}>
    {toVisibleText(models[0] ?? "")}
    {models.length > 1 && ` +${models.length - 1}`}
  </span>
);

function createTextColumn({
  id,
  title,
  read,
}: Pick<Column<RunItem>, "id" | "title"> & {
  readonly read: (run: RunItem) => string | undefined;
}): Column<RunItem> {
  return {
    id,
    title: toVisibleText(title),
    renderCell: (run) => (
      <span className={id === "error" ? "bad" : "quiet"}>{toVisibleText(read(run) ?? "")}</span>
    ),
    width: 160,
    grow: 2,
    isShown: false,
    tooltip: notSortableTooltip,
  };
}

/** The first tag, and the number of other tags, because the column has no space for several tags. */
const TagList = ({ tags: [first, ...others] }: { readonly tags: readonly string[] }) =>
  first === undefined ? null : (
    <span className="run-tags" title={toVisibleText([first, ...others].join(", "))}>
      <span className="tag">{toVisibleText(first)}</span>
      {others.length > 0 && <span className="quiet">+{others.length}</span>}
    </span>
  );

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
  "trace_usage",
  "tags",
  "metadata",
  "feedback_stats",
  "error",
  "inputs",
  "outputs",
];

/** The maximum number of metadata columns, and of feedback columns. */
const maxKeys = 40;

/**
 * Returns the keys that occur in records, sorted by frequency, the most frequent first, and then by name; 40 at most.
 */
export function collectKeys(
  records: readonly Readonly<Record<string, unknown>>[],
): readonly string[] {
  const counts = new Map<string, number>();
  for (const key of records.flatMap(Object.keys)) {
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([keyA, countA], [keyB, countB]) => countB - countA || keyA.localeCompare(keyB))
    .slice(0, maxKeys)
    .map(([key]) => key);
}
