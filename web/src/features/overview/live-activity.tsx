import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import {
  countRunsByProject,
  formatCost,
  formatShare,
  summarize,
  toSeries,
} from "../../api/live-report.ts";
import type { LiveReport } from "../../api/live-report.ts";
import { formatCount } from "../../components/chart/chart-data.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { Tile, Tiles } from "../../components/page/tiles.tsx";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration, formatTime } from "../../components/time/time.ts";
import type { Project } from "../projects/project.ts";

/** Metrics of the last minute. */
export const LiveTiles = ({ liveReport }: { readonly liveReport: LiveReport }) => {
  const { runsPerSecond, errorRate, p50Ms, p99Ms, tokens, cost } = summarize(liveReport, 60);
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
const stepMs = stepSeconds * 1_000;
const liveSeconds = 300;

/** The runs that a selected point of a live chart counts. */
interface LivePick {
  readonly startMs: number;
  readonly projects: readonly { readonly project: Project; readonly runs: number }[];
}

/**
 * Charts of the throughput and the trace latency in the last five minutes. A click on a point, or the Enter key, shows
 * links to the runs that ended then.
 */
export const LiveCharts = ({
  liveReport,
  projects,
}: {
  readonly liveReport: LiveReport;
  readonly projects: readonly Project[];
}) => {
  const [pick, setPick] = useState<LivePick>();
  const { stepStarts, rate, latency } = useMemo(() => {
    const series = toSeries(liveReport, stepSeconds);
    const { runsPerSecond, traces, errorRate, p50Ms, p99Ms } = summarize(liveReport, liveSeconds);
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
  }, [liveReport]);
  const pickStep = (index: number): void => {
    const startMs = stepStarts[index] ?? 0;
    const counts = countRunsByProject(liveReport, { fromMs: startMs, toMs: startMs + stepMs });
    setPick({
      startMs,
      projects: counts.flatMap(({ id, runs }) => {
        const project = projects.find((listed) => listed.id === id);
        return project === undefined || runs === 0 ? [] : [{ project, runs }];
      }),
    });
  };
  return (
    <>
      <div className="overview-charts">
        <Chart
          label="Throughput, last 5 min"
          positions={stepStarts}
          series={rate}
          format={formatCount}
          onPick={pickStep}
        />
        <Chart
          label="Trace latency, last 5 min"
          positions={stepStarts}
          series={latency}
          format={formatDuration}
          onPick={pickStep}
        />
      </div>
      {pick !== undefined && (
        <output className="overview-picked">
          <span>{formatTime(pick.startMs).slice(0, 19)}:</span>
          {pick.projects.length === 0 && "No runs"}
          {pick.projects.map(({ project, runs }) => (
            <Link
              key={project.id}
              to="/o/$tenantId/projects/p/$projectId"
              params={{ tenantId: project.tenantId, projectId: project.id }}
              search={{ all: true, filter: toEndFilter(pick.startMs) }}
            >
              {pluralize(runs, "run")} in {toVisibleText(project.name)}
            </Link>
          ))}
        </output>
      )}
    </>
  );
};

/**
 * The time, in milliseconds, that may pass between the end of a run and the second in which the server counts the run.
 * The server counts it when it stores the run's end, which the SDK sends within a few seconds.
 */
const maxDelayMs = 5_000;

const toEndFilter = (startMs: number): string =>
  `and(gte(end_time, "${new Date(startMs - maxDelayMs).toISOString()}"), lt(end_time, "${new Date(startMs + stepMs).toISOString()}"))`;
