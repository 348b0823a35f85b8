import { toVisibleText } from "../../components/text/visible-text.ts";
import type { RunStatus } from "./run.ts";

/** A run's type. Each predefined type has its own color. */
export const RunTypeBadge = ({ type }: { readonly type: string }) => (
  <span className="run-type" data-type={type}>
    {toVisibleText(type)}
  </span>
);

const statusLabels: { readonly [Status in RunStatus]: string } = {
  success: "Success",
  error: "Error",
  pending: "Running",
};

/** A run's status: a dot, and the word in color for runs that failed or have not ended. */
export const StatusBadge = ({
  status,
  isCompact = false,
}: {
  readonly status: RunStatus;
  /** Whether a run that succeeded has only the dot, as in a list in which most runs do. */
  readonly isCompact?: boolean;
}) => {
  const isDot = isCompact && status === "success";
  return (
    <span className="status" data-status={status} title={isDot ? statusLabels[status] : undefined}>
      <span className={isDot ? "unseen" : undefined}>{statusLabels[status]}</span>
    </span>
  );
};
