import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration } from "../../../components/time/time.ts";
import { RunTypeBadge, StatusBadge } from "../../runs/run-badges.tsx";
import type { TraceRunDetails } from "../queries.ts";
import { CostText } from "./cost-text.tsx";

/** The maximum number of characters of a name that are shown. */
const maxNameChars = 300;

/** The header of a run: name, type, status, duration, tokens, cost and tags. */
export const RunHead = ({ details: run }: { readonly details: TraceRunDetails }) => (
  <>
    <h1>
      <bdi>{toVisibleText(run.name.slice(0, maxNameChars))}</bdi>
      {run.name.length > maxNameChars && `… (${run.name.length.toLocaleString("en")} characters)`}
    </h1>
    <p className="summary">
      <RunTypeBadge type={run.runType} />
      <StatusBadge status={run.status} />
      {run.endMs !== undefined && (
        <span>{formatDuration(Math.max(0, run.endMs - run.startMs))}</span>
      )}
      {run.tokens.total > 0 && <span>{pluralize(run.tokens.total, "token")}</span>}
      <CostText cost={run.cost} prefix="Cost" />
      {run.tags.map((tag, index) => (
        // The index is a stable React key: tags may repeat, but their order does not change.
        <span key={index} className="tag">
          <bdi>{toVisibleText(tag)}</bdi>
        </span>
      ))}
    </p>
  </>
);
