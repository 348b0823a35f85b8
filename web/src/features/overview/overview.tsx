import { useLocalStorage } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { describeMissing, toCountedTimes } from "../metrics/metrics.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { MetricChart } from "../metrics/metric-charts.ts";
import { findPeriodShift, toCharts } from "../metrics/metric-charts.ts";
import { MetricTiles } from "../metrics/metric-tiles.tsx";
import { OverviewRangeControl } from "../metrics/overview-range-control.tsx";
import { createOverviewQuery } from "../metrics/overview.ts";
import { overviewRanges } from "../metrics/overview-range.ts";
import type { OverviewMetrics } from "../metrics/overview.ts";
import type { OverviewRange } from "../metrics/overview-range.ts";
import { useOverviewRange } from "../metrics/use-overview-range.ts";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Project } from "../projects/project.ts";
import { describeLiveFailure } from "../../api/failure.ts";
import { useLiveReport } from "../../api/live-feed.ts";
import { emptyReport } from "../../api/live-report.ts";
import { Chart } from "../../components/chart/chart.tsx";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Failure, Loading } from "../../components/page/states.tsx";
import { formatTime } from "../../components/time/time.ts";
import { ProjectTable } from "../projects/project-table.tsx";
import { projectsQuery } from "../projects/queries.ts";
import { FirstRun } from "./first-run.tsx";
import { LiveCharts, LiveTiles } from "./live-activity.tsx";
import { SdkClients } from "./sdk-clients.tsx";
import "./overview.css";

const route = getRouteApi("/");

/**
 * The page `/`. It shows metrics of a time range and the current activity or, if there are no projects yet, how to
 * record the first run.
 */
export const Overview = () => {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  const { liveReport, error: liveError } = useLiveReport();
  const [range, setRange] = useUrlRange();
  const [countsOwnProjects, setCountsOwnProjects] = useCountsOwnProjects();
  const overview = useQuery({
    ...createOverviewQuery(range, countsOwnProjects),
    enabled: projects !== undefined && projects.length > 0,
  });
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
            <OverviewRangeControl range={range} onRange={setRange} />
          </div>
          {overview.error !== null && (
            <Failure
              resourceName="the metrics"
              error={overview.error}
              onRetry={() => overview.refetch()}
            />
          )}
          {overview.data === undefined
            ? overview.error === null && <Loading resourceName="the metrics" />
            : overview.error === null && (
                // The key resets the selected point of a chart when the range changes.
                <RangeMetrics
                  key={range}
                  overview={overview.data}
                  range={range}
                  projects={projects}
                  countsOwnProjects={countsOwnProjects}
                  onCountsOwnProjects={setCountsOwnProjects}
                />
              )}
          <ProjectTable
            title="Projects"
            projects={projects}
            range={range}
            overview={overview.data}
            liveReport={liveReport}
          />
          <h2 className="tiles-title">Live, last minute</h2>
          <LiveTiles liveReport={liveReport ?? emptyReport} />
          <LiveCharts liveReport={liveReport ?? emptyReport} projects={projects} />
        </>
      )}
      {liveReport !== undefined && liveReport.senders.length > 0 && (
        <SdkClients clients={liveReport.senders} />
      )}
    </div>
  );
};

/** The time range in the URL or, without one there, the range that was last selected in this browser. */
function useUrlRange(): readonly [OverviewRange, (range: OverviewRange) => void] {
  const [storedRange, storeRange] = useOverviewRange();
  const { last } = route.useSearch();
  const navigate = route.useNavigate();
  const setRange = (range: OverviewRange): void => {
    storeRange(range);
    void navigate({ search: { last: range }, replace: true });
  };
  return [last ?? storedRange, setRange];
}

/**
 * Whether the metrics include the projects in which Millrace itself records the calls of its playground and of its
 * judges. The browser stores this setting.
 */
const useCountsOwnProjects = () =>
  useLocalStorage({
    key: "millrace.overview.own-projects",
    defaultValue: false,
    getInitialValueInEffect: false,
  });

/** Metrics of the traces of all projects in a time range, each compared with the previous period. */
const RangeMetrics = ({
  overview,
  range,
  projects,
  countsOwnProjects,
  onCountsOwnProjects,
}: {
  readonly overview: OverviewMetrics;
  readonly range: OverviewRange;
  readonly projects: readonly Project[];
  readonly countsOwnProjects: boolean;
  readonly onCountsOwnProjects: (countsOwnProjects: boolean) => void;
}) => {
  const { metrics, isPartial } = overview;
  const [pick, setPick] = useState<ChartPick>();
  const navigate = useNavigate();
  /** Opens the traces that a point counts. If they belong to several projects, shows links to them first. */
  const openTraces = (picked: ChartPick): void => {
    const [first, ...others] = picked.projects;
    if (first !== undefined && others.length === 0) {
      void navigate(toTraceList(picked, first.project));
    } else {
      setPick(picked);
    }
  };
  const label = `Traces, last ${overviewRanges[range]}`;
  const charts = useMemo(() => selectCharts(metrics), [metrics]);
  const missing = useMemo(() => describeMissing(metrics.missing, false), [metrics]);
  return (
    <>
      <div className="overview-title">
        <h2 className="tiles-title">{label}</h2>
        {(countsOwnProjects ||
          [...overview.projects.values()].some(({ isCounted }) => !isCounted)) && (
          <label
            className="quiet"
            title="Millrace itself records the calls of its playground and of its judges in these projects"
          >
            <input
              type="checkbox"
              checked={countsOwnProjects}
              onChange={({ currentTarget }) => onCountsOwnProjects(currentTarget.checked)}
            />
            Include the projects “playground” and “evaluators”
          </label>
        )}
      </div>
      <MetricTiles metrics={metrics} label={label} countName="Traces" />
      {missing !== undefined && <output className="note">{missing}</output>}
      {isPartial && (
        <output className="note">
          These numbers are incomplete, because there are too many projects to read all of them in
          time.
        </output>
      )}
      <div className="overview-charts chart-row">
        {charts.map((chart) => (
          <Chart
            key={chart.label}
            label={chart.label === "Runs" ? "Traces" : chart.label}
            positions={metrics.starts}
            series={chart.series}
            format={chart.format}
            onPick={(index, seriesIndex) =>
              openTraces(pickTraces({ overview, projects, chart, index, seriesIndex }))
            }
          />
        ))}
      </div>
      {pick !== undefined && <PickedTraces pick={pick} />}
    </>
  );
};

/** The traces that a selected point of a chart counts. The selection stays the same when the metrics are read again. */
interface ChartPick {
  readonly startMs: number;
  readonly endMs: number;
  /** Whether only the traces with an error are counted. */
  readonly isError: boolean;
  /** The projects of the counted traces. */
  readonly projects: readonly {
    readonly project: Project;
    readonly traceCount: number;
  }[];
}

function pickTraces({
  overview: { metrics, projects: metricsByProject },
  projects,
  chart,
  index,
  seriesIndex,
}: {
  readonly overview: OverviewMetrics;
  readonly projects: readonly Project[];
  readonly chart: MetricChart;
  readonly index: number;
  readonly seriesIndex: number | undefined;
}): ChartPick {
  const shiftMs = findPeriodShift(metrics, chart, seriesIndex);
  const startMs = (metrics.starts[index] ?? 0) - shiftMs;
  return {
    startMs,
    endMs: startMs + metrics.widthMs,
    isError: chart.isError,
    projects: projects.flatMap((project) => {
      const figures = metricsByProject.get(project.id);
      const runs = shiftMs > 0 ? figures?.previousRuns : figures?.runs;
      const traceCount = figures?.isCounted === true ? (runs?.[index] ?? 0) : 0;
      // For each project, errors are counted only for the whole range, not for each point.
      const hasNoError = chart.isError && shiftMs === 0 && figures?.total.errors === 0;
      return traceCount === 0 || hasNoError ? [] : [{ project, traceCount }];
    }),
  };
}

/** The link to the traces of a project that a point of a chart counts. */
const toTraceList = ({ startMs, endMs, isError }: ChartPick, { id, tenantId }: Project) => ({
  to: "/o/$tenantId/projects/p/$projectId" as const,
  params: { tenantId, projectId: id },
  search: {
    ...toCountedTimes(startMs, endMs),
    ...(isError ? { filter: 'eq(status, "error")' } : {}),
  },
});

/** Links to the traces that a point of a chart counts, one for each project; or a note that there are none. */
const PickedTraces = ({ pick }: { readonly pick: ChartPick }) => (
  <output className="overview-picked">
    <span>{formatTime(pick.startMs).slice(0, 16)}:</span>
    {pick.projects.length === 0 && (pick.isError ? "No traces with an error" : "No traces")}
    {pick.projects.map(({ project, traceCount }) => (
      <Link key={project.id} {...toTraceList(pick, project)}>
        {describePicked(pick.isError, traceCount)} {toVisibleText(project.name)}
      </Link>
    ))}
  </output>
);

const describePicked = (isError: boolean, traceCount: number): string =>
  isError ? "Traces with an error in" : `${pluralize(traceCount, "trace")} in`;

/** Returns the charts of the metrics. The charts of tokens and cost are left out if there are no tokens or no cost. */
const selectCharts = (metrics: Metrics): readonly MetricChart[] => {
  const { total, previous } = metrics;
  return toCharts(metrics).filter(
    ({ label }) =>
      (label !== "Tokens" || total.tokens + previous.tokens > 0) &&
      (label !== "Cost" || total.cost + previous.cost > 0),
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
    return <span className="live failed">{describeLiveFailure(error)}</span>;
  }
  return <span className={isLive ? "live on" : "live"}>{isLive ? "Live" : "Connecting"}</span>;
};
