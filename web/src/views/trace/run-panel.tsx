import { useQuery } from "@tanstack/react-query";
import { runQuery } from "../../api/runs.ts";
import { formatJson, toJsonText } from "../../lib/json-text.ts";
import type { RunDetails } from "../../lib/run.ts";
import { formatDuration, formatTime } from "../../lib/time.ts";
import { toVisibleText } from "../../lib/visible-text.ts";
import { CopyText } from "../../parts/copy-text.tsx";
import { RunTypeMark, StatusMark } from "../marks.tsx";
import { Failure, Loading } from "../states.tsx";

/** All that was recorded of one run. */
export const RunPanel = ({ runId }: { readonly runId: string }) => {
  const { data: run, error, refetch } = useQuery(runQuery(runId));
  return (
    <section className="panel" aria-label="Selected run">
      {run === undefined && error === null && <Loading what="the run" />}
      {run === undefined && error !== null && (
        <Failure what="the run" error={error} onRetry={refetch} />
      )}
      {run !== undefined && <RunFields run={run} />}
    </section>
  );
};

const RunFields = ({ run }: { readonly run: RunDetails }) => (
  <>
    <h1>
      <bdi>{toVisibleText(run.name)}</bdi>
    </h1>
    <p className="summary">
      <RunTypeMark type={run.runType} />
      <StatusMark status={run.status} />
      {run.tags.map((tag, index) => (
        // Tags may repeat, and they don't move.
        <span key={index} className="tag">
          <bdi>{toVisibleText(tag)}</bdi>
        </span>
      ))}
    </p>
    {run.error !== undefined && <ErrorText error={run.error} />}
    <JsonValue label="Inputs" value={run.inputs} />
    <JsonValue label="Outputs" value={run.outputs} />
    {run.events.length > 0 && (
      <JsonValue label={`Events (${run.events.length})`} value={run.events} />
    )}
    {Object.keys(run.metadata).length > 0 && <JsonValue label="Metadata" value={run.metadata} />}
    <Times run={run} />
  </>
);

const ErrorText = ({ error }: { readonly error: string }) => (
  <div className="error-text">
    <CopyText label="Error" text={toVisibleText(error)} whole={() => error} />
  </div>
);

const JsonValue = ({ label, value }: { readonly label: string; readonly value: unknown }) => {
  if (value === undefined) {
    return (
      <p className="absent">
        <span>{label}</span> none recorded
      </p>
    );
  }
  const { text, omitted } = toJsonText(value);
  return (
    <>
      <CopyText label={label} text={text} whole={() => formatJson(value)} />
      {omitted > 0 && (
        <p className="absent">{omitted.toLocaleString()} more characters; Copy takes all.</p>
      )}
    </>
  );
};

const Times = ({ run: { id, startMs, endMs } }: { readonly run: RunDetails }) => (
  <dl className="times">
    <dt>Start</dt>
    <dd>{formatTime(startMs)}</dd>
    <dt>End</dt>
    <dd>{endMs === undefined ? "still running" : formatTime(endMs)}</dd>
    <dt>Latency</dt>
    <dd>{endMs === undefined ? "" : formatDuration(endMs - startMs)}</dd>
    <dt>Id</dt>
    <dd>
      <code>{id}</code>
    </dd>
  </dl>
);
