import { useQuery } from "@tanstack/react-query";
import { useLive } from "../../api/live-feed.ts";
import { projectsQuery } from "../projects/queries.ts";
import { nothingYet } from "../../api/live-report.ts";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { FirstRun } from "./first-run.tsx";
import { LiveCharts } from "./live-charts.tsx";
import { LiveTiles } from "./live-tiles.tsx";
import { ProjectTable } from "../projects/project-table.tsx";
import { SenderTable } from "./sdk-clients.tsx";
import "./overview.css";

/** `/`: what arrives now, or how to put something in. */
export const Home = () => {
  const { data: projects, error, refetch } = useQuery(projectsQuery);
  const { live, error: liveError } = useLive();
  if (projects === undefined) {
    return (
      <AbsentView title="What arrives now" what="the projects" error={error} onRetry={refetch} />
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
            <h1>What arrives now</h1>
            <LiveMark isLive={live !== undefined} error={liveError} />
          </div>
          <LiveTiles live={live ?? nothingYet} />
          <LiveCharts live={live ?? nothingYet} />
          <ProjectTable title="Projects" projects={projects} live={live} />
        </>
      )}
      {live !== undefined && live.senders.length > 0 && <SenderTable senders={live.senders} />}
    </div>
  );
};

const LiveMark = ({
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
