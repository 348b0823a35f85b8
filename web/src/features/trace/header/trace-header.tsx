import { ActionIcon } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { ReactNode } from "react";
import { useCommands } from "../../../components/keyboard/commands.ts";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { Ago } from "../../../components/time/ago.tsx";
import { formatDuration } from "../../../components/time/time.ts";
import { StatusBadge } from "../../runs/run-badges.tsx";
import { parseListSearch } from "../../runs/run-list-search.ts";
import type { ProjectAddress } from "../../runs/run-list-search.ts";
import { useNeighborTraces } from "./neighbor-traces.ts";
import type { NeighborTrace } from "./neighbor-traces.ts";
import { createTraceRunQuery, traceRunLimit } from "../queries.ts";
import type { LoadedTrace } from "../queries.ts";
import { computeFullRange } from "../time-scale.ts";
import { findThreadId } from "./thread-id.ts";
import { TraceCost } from "./trace-cost.tsx";
import { readStatus, statusCodes } from "../trace-model.ts";
import { sumModelCalls } from "../trace-usage.ts";

/** The maximum number of models that the header names. */
const maxModels = 3;
const maxNameChars = 200;

/** The header of a trace: its name and facts, and links to the traces before and after it in the list. */
export const TraceHeader = ({
  address,
  traceId,
  runId,
  trace,
  children,
}: {
  readonly address: ProjectAddress;
  readonly traceId: string;
  readonly runId: string;
  readonly trace: LoadedTrace | undefined;
  /** The link back to the list. */
  readonly children: ReactNode;
}) => {
  const { model } = trace ?? {};
  const root = model?.order[0];
  return (
    <div className="heading trace-heading">
      {children}
      {model !== undefined && root !== undefined && trace !== undefined ? (
        <>
          <TraceTitle name={model.names[root] ?? ""} />
          <TraceFacts trace={trace}>
            <ThreadLink address={address} rootId={model.ids[root]} />
          </TraceFacts>
        </>
      ) : (
        <h1>Trace</h1>
      )}
      <NeighborLinks address={address} traceId={traceId} runId={runId} />
    </div>
  );
};

export const TraceTitle = ({ name }: { readonly name: string }) => (
  <p className="trace-title">
    <bdi>{toVisibleText(toShortName(name))}</bdi>
  </p>
);

export const TraceFacts = ({
  trace: { model, readMs, isTruncated },
  children,
}: {
  readonly trace: LoadedTrace;
  /** An additional fact: the link to the trace's thread. */
  readonly children?: ReactNode;
}) => {
  const { from, to } = computeFullRange(model, readMs * 1_000 - model.baseMicros);
  const errorCount = model.statuses.reduce(
    (count, status) => count + (status === statusCodes.error ? 1 : 0),
    0,
  );
  const tokens = sumModelCalls(model, model.tokens);
  const models = useMemo(() => [...new Set(model.models.values())], [model]);
  const isRunning = model.statuses.includes(statusCodes.pending);
  const status = readStatus(model, model.order[0] ?? 0);
  const facts: readonly (readonly [key: string, fact: ReactNode])[] = [
    ["status", <StatusBadge key="status" status={isRunning ? "pending" : status} />],
    ["latency", formatDuration((to - from) / 1_000)],
    ["models", toModelsText(models)],
    ["tokens", tokens > 0 ? pluralize(tokens, "token") : ""],
    ["cost", model.tokens.size + model.costs.size > 0 && <TraceCost key="cost" model={model} />],
    ["runs", pluralize(model.count, "run")],
    [
      "errors",
      errorCount > 0 && (
        <span key="errors" className="bad">
          {pluralize(errorCount, "error")}
        </span>
      ),
    ],
    [
      "limit",
      isTruncated && (
        <span key="limit" className="bad">
          Only the first {traceRunLimit.toLocaleString("en")} runs are shown
        </span>
      ),
    ],
    ["thread", children ?? false],
    ["start", <Ago key="start" timeMs={(model.baseMicros + from) / 1_000} />],
  ];
  return (
    <ul className="chips" aria-label="Facts of the trace">
      {facts
        .filter(([, fact]) => fact !== "" && fact !== false)
        .map(([key, fact]) => (
          <li key={key} className="chip">
            {fact}
          </li>
        ))}
    </ul>
  );
};

/** A link to the thread that the trace is part of. */
const ThreadLink = ({
  address,
  rootId,
}: {
  readonly address: ProjectAddress;
  readonly rootId: string | undefined;
}) => {
  const { data: root } = useQuery({
    ...createTraceRunQuery(rootId ?? ""),
    enabled: rootId !== undefined,
  });
  const threadId = findThreadId(root);
  return threadId === undefined ? null : (
    <Link
      to="/o/$tenantId/projects/p/$projectId/thread"
      params={{ ...address }}
      search={{ id: threadId }}
    >
      Thread <bdi>{toVisibleText(threadId)}</bdi>
    </Link>
  );
};

const toShortName = (name: string): string =>
  name.length > maxNameChars ? `${name.slice(0, maxNameChars)}…` : name;

function toModelsText(models: readonly string[]): string {
  const names = models.slice(0, maxModels).map((name) => toVisibleText(name.slice(0, 80)));
  const hiddenCount = models.length - names.length;
  return names.join(", ") + (hiddenCount > 0 ? ` and ${hiddenCount} more` : "");
}

/** Links to the traces before and after this trace in the list. The keys `k` and `j` also open them. */
const NeighborLinks = ({
  address,
  traceId,
  runId,
}: {
  readonly address: ProjectAddress;
  readonly traceId: string;
  readonly runId: string;
}) => {
  const { previous, next } = useNeighborTraces(address.projectId, { traceId, runId });
  const navigate = useNavigate({ from: "/o/$tenantId/projects/p/$projectId" });
  const open = useRef<(by: "previous" | "next") => void>(undefined);
  useEffect(() => {
    open.current = (by) => {
      const neighbor = by === "previous" ? previous : next;
      if (neighbor !== undefined) {
        void navigate({
          search: (current) => ({ ...parseListSearch({ ...current }), ...neighbor }),
          // Replace the history entry, so that the Back button leads to the list, not to the previous trace.
          replace: true,
        });
      }
    };
  });
  useCommands(
    useMemo(
      () =>
        (
          [
            ["next", "Next trace of the list", "j"],
            ["previous", "Previous trace of the list", "k"],
          ] as const
        ).map(([by, label, keys]) => ({
          id: `trace ${by}`,
          group: "This page",
          label,
          keys,
          run: () => open.current?.(by),
        })),
      [],
    ),
  );
  return (
    <nav className="trace-neighbors" aria-label="Previous and next trace">
      <NeighborLink label="Previous trace" neighbor={previous} icon="↑" />
      <NeighborLink label="Next trace" neighbor={next} icon="↓" />
    </nav>
  );
};

const NeighborLink = ({
  label,
  neighbor,
  icon,
}: {
  readonly label: string;
  readonly neighbor: NeighborTrace | undefined;
  readonly icon: string;
}) =>
  neighbor === undefined ? (
    <ActionIcon variant="default" disabled aria-label={label}>
      {icon}
    </ActionIcon>
  ) : (
    <ActionIcon
      variant="default"
      aria-label={label}
      title={label}
      renderRoot={(props) => (
        <Link
          from="/o/$tenantId/projects/p/$projectId"
          to="."
          replace
          search={(current) => ({ ...parseListSearch({ ...current }), ...neighbor })}
          {...props}
        />
      )}
    >
      {icon}
    </ActionIcon>
  );
