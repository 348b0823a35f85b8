import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useLiveReport } from "../../api/live-feed.ts";
import {
  emptyReport,
  formatCost,
  formatShare,
  summarize,
  toSeries,
} from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { formatDuration } from "../../components/time/time.ts";
import { ProjectTable } from "../projects/project-table.tsx";
import { projectsQuery } from "../projects/queries.ts";
import { FirstRun } from "./first-run.tsx";
import { SdkClients } from "./sdk-clients.tsx";
import { Tile, Tiles } from "../../components/page/tiles.tsx";
import "./overview.css";

/** The view of `/`: current activity, or the first steps while no project exists. */
export const Overview = () => {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  const { liveReport, error: liveError } = useLiveReport();
  if (projects === undefined) {
    return (
      <AbsentView title="Overview" resourceName="the projects" error={error} onRetry={refetch} />
    );
  }
  return (
    <div className="page">
      <title>Millrace</title>
      {projects.length === 0 ? (
        <FirstRun />
      ) : (
        <>
          <div className="page-head">
            <h1>Overview</h1>
            <LiveStatus isLive={liveReport !== undefined} error={liveError} />
          </div>
          <h2 className="tiles-title">Last minute</h2>
          <LiveTiles live={liveReport ?? emptyReport} />
          <LiveCharts live={liveReport ?? emptyReport} />
          <ProjectTable title="Projects" projects={projects} live={liveReport} />
        </>
      )}
      {liveReport !== undefined && liveReport.senders.length > 0 && (
        <SdkClients senders={liveReport.senders} />
      )}
    </div>
  );
};

const LiveStatus = ({
  isLive,
  error,
}: {
  readonly isLive: boolean;
  readonly error: Error | undefined;
}) => {
  if (error !== undefined) {
    return <span className="live failed">{error.message}</span>;
  }
  return <span className={isLive ? "live on" : "live"}>{isLive ? "Live" : "Connecting"}</span>;
};

/** Key figures of the last minute. */
export const LiveTiles = ({ live }: { readonly live: LiveReport }) => {
  const { runsPerSecond, errorRate, p50Ms, p99Ms, tokens, cost } = summarize(live, 60);
  const isBad = (errorRate ?? 0) > 0;
  return (
    <Tiles label="Activity of the last minute">
      <Tile name="Runs/s" value={formatCount(runsPerSecond)} />
      <Tile
        name="Error rate"
        value={errorRate === undefined ? undefined : formatShare(errorRate)}
        isBad={isBad}
      />
      <Tile name="p50 latency" value={p50Ms === undefined ? undefined : formatDuration(p50Ms)} />
      <Tile name="p99 latency" value={p99Ms === undefined ? undefined : formatDuration(p99Ms)} />
      <Tile name="Tokens/min" value={tokens === 0 ? undefined : formatCount(tokens)} />
      <Tile name="Cost/min" value={cost === 0 ? undefined : formatCost(cost)} />
    </Tiles>
  );
};

const stepSeconds = 5;
const liveSeconds = 300;

/** Charts of the throughput and the trace latency in the last five minutes. */
export const LiveCharts = ({ live }: { readonly live: LiveReport }) => {
  const { stepStarts, rate, latency } = useMemo(() => {
    const series = toSeries(live, stepSeconds);
    const { runsPerSecond, traces, errorRate, p50Ms, p99Ms } = summarize(live, liveSeconds);
    return {
      stepStarts: series.stepStarts,
      rate: [
        {
          label: "runs/s",
          color: "--accent",
          kind: "area" as const,
          values: series.steps.map((step) => step.runsPerSecond),
          total: runsPerSecond,
        },
        {
          label: "failed traces/s",
          color: "--bad",
          values: series.steps.map((step) => (step.traces * (step.errorRate ?? 0)) / stepSeconds),
          total: (traces * (errorRate ?? 0)) / liveSeconds,
        },
      ],
      latency: [
        {
          label: "p50",
          color: "--accent",
          values: series.steps.map((step) => step.p50Ms ?? null),
          total: p50Ms,
        },
        {
          label: "p99",
          color: "--busy",
          values: series.steps.map((step) => step.p99Ms ?? null),
          total: p99Ms,
        },
      ],
    };
  }, [live]);
  return (
    <div className="overview-charts">
      <Chart
        label="Throughput, last 5 min"
        positions={stepStarts}
        series={rate}
        format={formatCount}
      />
      <Chart
        label="Trace latency, last 5 min"
        positions={stepStarts}
        series={latency}
        format={formatDuration}
      />
    </div>
  );
};
