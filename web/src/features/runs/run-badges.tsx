import { messageIcon, modelIcon, toolIcon } from "../../components/payload/icon-paths.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { RunStatus } from "./run.ts";

/** A run's type. Each predefined type has its own color. */
export const RunTypeBadge = ({ type }: { readonly type: string }) => (
  <span className="run-type" data-type={type}>
    {toVisibleText(type)}
  </span>
);

/** The SVG paths of the icons of the predefined types, drawn in a box of 16 by 16 units. */
const typeIcons: Readonly<Record<string, string>> = {
  chain: "M6.5 9.5l3-3M7 5l1.5-1.5a2.5 2.5 0 0 1 4 4L11 9M9 11l-1.5 1.5a2.5 2.5 0 0 1-4-4L5 7",
  llm: modelIcon,
  tool: toolIcon,
  retriever: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.5 10.5l3.5 3.5",
  embedding: "M2.5 3h3v3h-3ZM10.5 3h3v3h-3ZM2.5 10h3v3h-3ZM10.5 10h3v3h-3ZM6.5 4.5h3M6.5 11.5h3",
  prompt: messageIcon,
  parser: "M5.5 3C3 3 5 8 2.5 8 5 8 3 13 5.5 13M10.5 3C13 3 11 8 13.5 8 11 8 13 13 10.5 13",
};
const otherTypeIcon = "M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z";

/** A run's type as an icon in its color, where there is no space for {@link RunTypeBadge}. */
export const RunTypeIcon = ({ type }: { readonly type: string }) => (
  <svg
    className="icon run-type-icon"
    viewBox="0 0 16 16"
    role="img"
    aria-label={toVisibleText(type)}
    data-type={type}
  >
    <path d={typeIcons[type] ?? otherTypeIcon} />
  </svg>
);

const statusLabels: { readonly [Status in RunStatus]: string } = {
  success: "Success",
  error: "Error",
  pending: "Running",
};

/** A run's status as a dot and a word. The word is colored for runs that failed or have not ended. */
export const StatusBadge = ({
  status,
  isCompact = false,
}: {
  readonly status: RunStatus;
  /** Whether the word is omitted for runs that succeeded, such as in a list in which most runs succeed. */
  readonly isCompact?: boolean;
}) => {
  const isDot = isCompact && status === "success";
  return (
    <span className="status" data-status={status} title={isDot ? statusLabels[status] : undefined}>
      <span className={isDot ? "unseen" : undefined}>{statusLabels[status]}</span>
    </span>
  );
};
