import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { isId } from "../../api/parse.ts";
import { isMissing } from "../../api/failure.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { TraceFacts, TraceTitle } from "../trace/header/trace-header.tsx";
import { createSharedTraceQuery } from "../trace/queries.ts";
import { TraceBody } from "../trace/trace-body.tsx";
import { parseTraceSearch } from "../trace/trace-search.ts";
import type { TraceChange } from "../trace/use-trace-address.ts";
import "../trace/trace.css";

/** A shared trace: its tree with the waterfall, and the details of the selected run. Nothing can be changed. */
export const SharedTrace = ({
  token,
  traceId,
}: {
  readonly token: string;
  readonly traceId: string;
}) => {
  const { data: trace, error, refetch } = useQuery(createSharedTraceQuery(token));
  const { search, runId = traceId, change } = useSharedTraceAddress();
  const source = useMemo(() => ({ kind: "share", token }) as const, [token]);
  // Do not show a trace that is no longer shared, even if it was loaded before.
  if (trace === undefined || isMissing(error)) {
    return (
      <AbsentView
        title="Shared trace"
        resourceName="the shared trace"
        error={error}
        onRetry={refetch}
        missingMessage="The trace may no longer be shared, or the link is incomplete."
      />
    );
  }
  const name = trace.model.names[trace.model.order[0] ?? 0] ?? "";
  return (
    <div className="fill">
      <title>{`${toVisibleText(name.slice(0, 200))} · Millrace`}</title>
      <div className="heading trace-heading">
        <span className="quiet">Shared trace</span>
        <TraceTitle name={name} />
        <TraceFacts trace={trace} />
      </div>
      <TraceBody
        source={source}
        trace={trace}
        traceId={traceId}
        runId={runId}
        search={search}
        change={change}
      />
    </div>
  );
};

/**
 * The state of the trace in the URL. It is parsed here and not in the route, because the code of routes is loaded
 * before any page.
 */
function useSharedTraceAddress() {
  const searchText = useLocation({ select: ({ search }) => JSON.stringify(search) });
  const { search, runId } = useMemo(() => {
    const parameters = JSON.parse(searchText) as Readonly<Record<string, unknown>>;
    const { run } = parameters;
    return { search: parseTraceSearch(parameters), runId: isId(run) ? run : undefined };
  }, [searchText]);
  const navigate = useNavigate();
  const change = useCallback(
    (changes: TraceChange) =>
      void navigate({
        to: ".",
        search: (current) =>
          Object.fromEntries(
            Object.entries({ ...current, ...changes }).filter(([, value]) => value !== undefined),
          ),
        replace: true,
      }),
    [navigate],
  );
  return { search, runId, change };
}
