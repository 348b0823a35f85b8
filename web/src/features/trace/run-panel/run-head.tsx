import { toVisibleText } from "../../../components/text/visible-text.ts";
import { formatDuration } from "../../../components/time/time.ts";
import { RunTypeBadge, StatusBadge } from "../../runs/run-badges.tsx";
import type { TraceRunDetails } from "../queries.ts";

/** The most characters of a name that are shown. */
const nameChars = 300;

/** The header of a run: name, type, status, duration, tokens, cost and tags. */
export const RunHead = ({ details: run }: { readonly details: TraceRunDetails }) => (
  <>
    <h1>
      <bdi>{toVisibleText(run.name.slice(0, nameChars))}</bdi>
      {run.name.length > nameChars && `… (${run.name.length.toLocaleString()} characters)`}
    </h1>
    <p className="summary">
      <RunTypeBadge type={run.runType} />
      <StatusBadge status={run.status} />
      {run.endMs !== undefined && (
        <span>{formatDuration(Math.max(0, run.endMs - run.startMs))}</span>
      )}
      {run.tokens.total > 0 && <span>{run.tokens.total.toLocaleString()} tokens</span>}
      {run.cost !== undefined && <span>${run.cost}</span>}
      {run.tags.map((tag, index) => (
        // The index is the key: tags may repeat, and their order does not change.
        <span key={index} className="tag">
          <bdi>{toVisibleText(tag)}</bdi>
        </span>
      ))}
    </p>
  </>
);
