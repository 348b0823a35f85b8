import { toVisibleText } from "../../components/text/visible-text.ts";
import type { RunStatus } from "./run.ts";

/** A run's type, in its colour where it is one of ours. */
export const RunTypeBadge = ({ type }: { readonly type: string }) => (
  <span className="run-type" data-type={type}>
    {toVisibleText(type)}
  </span>
);

const words: { readonly [Status in RunStatus]: string } = {
  success: "Success",
  error: "Error",
  pending: "Running",
};

export const StatusBadge = ({ status }: { readonly status: RunStatus }) => (
  <span className="status" data-status={status}>
    {words[status]}
  </span>
);
