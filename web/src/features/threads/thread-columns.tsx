import type { ReactNode } from "react";
import { formatCount } from "../../components/chart/chart-data.ts";
import type { Column } from "../../components/table/data-table.tsx";
import { formatDollars } from "../../components/text/cost.ts";
import { removeMarkdownMarks } from "../../components/markdown/markdown-marks.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { Ago } from "../../components/time/ago.tsx";
import { FeedbackScores } from "./feedback-scores.tsx";
import type { LastMessage, ThreadItem } from "./thread-item.ts";

export const createThreadColumns = (
  formatCost: (cost: number) => string,
): readonly Column<ThreadItem>[] => [
  {
    id: "id",
    title: "Thread",
    renderCell: ({ id }) => <bdi>{toVisibleText(id)}</bdi>,
    sort: "asc",
    sortValue: ({ id }) => id,
    width: 140,
    grow: 2,
    isFixed: true,
    isShownWhenNarrow: true,
  },
  {
    id: "message",
    title: "Last message",
    renderCell: ({ lastMessage }) =>
      lastMessage === undefined ? "" : <MessagePreview message={lastMessage} />,
    width: 200,
    grow: 4,
  },
  {
    id: "turns",
    title: "Turns",
    renderCell: ({ turnCount, isTruncated }) =>
      `${turnCount.toLocaleString("en")}${isTruncated ? "+" : ""}`,
    sort: "desc",
    sortValue: ({ turnCount }) => turnCount,
    width: 72,
    align: "end",
    isShownWhenNarrow: true,
  },
  {
    id: "errors",
    title: "Errors",
    renderCell: ({ errorCount }) =>
      errorCount === 0 ? "" : <span className="bad">{errorCount.toLocaleString("en")}</span>,
    sort: "desc",
    sortValue: ({ errorCount }) => errorCount,
    width: 72,
    align: "end",
  },
  {
    id: "tokens",
    title: "Tokens",
    renderCell: ({ tokens }) => (tokens === undefined ? "" : formatCount(tokens)),
    sort: "desc",
    sortValue: ({ tokens }) => tokens,
    width: 84,
    align: "end",
  },
  {
    id: "cost",
    title: "Cost",
    renderCell: ({ cost }) => (cost === undefined ? "" : formatCost(cost)),
    sort: "desc",
    sortValue: ({ cost }) => cost,
    width: 84,
    align: "end",
  },
  {
    id: "feedback",
    title: "Feedback",
    renderCell: ({ feedback }) => <FeedbackScores scores={feedback} />,
    width: 120,
    grow: 1,
  },
  {
    id: "last",
    title: "Last turn",
    renderCell: ({ lastStartMs }) => <Ago timeMs={lastStartMs} />,
    sort: "desc",
    sortValue: ({ lastStartMs }) => lastStartMs,
    width: 104,
    isShownWhenNarrow: true,
  },
];

/** Renders the last message of a thread, its cost and its feedback for narrow screens, which show few columns. */
export const renderThreadDetail = ({ lastMessage, cost, feedback }: ThreadItem): ReactNode => (
  <>
    <span>{lastMessage !== undefined && <MessagePreview message={lastMessage} />}</span>
    <span className="quiet">
      {cost !== undefined && `${formatDollars(cost)} `}
      <FeedbackScores scores={feedback} />
    </span>
  </>
);

const sourceLabels: { readonly [Source in LastMessage["source"]]: string } = {
  inputs: "User",
  outputs: "Assistant",
  error: "Error",
};

/** Matches errors such as `Error: 429` or `RateLimitError: …`, which need no label before them. */
const startsWithErrorName = /^\w*(?:Error|Exception)\b/;

const MessagePreview = ({ message: { source, text } }: { readonly message: LastMessage }) => (
  <>
    {!(source === "error" && startsWithErrorName.test(text)) && (
      <span className="thread-source">{sourceLabels[source]} </span>
    )}
    <bdi className={source === "error" ? "bad" : ""}>
      {toVisibleText(source === "error" ? text : removeMarkdownMarks(text))}
    </bdi>
  </>
);
