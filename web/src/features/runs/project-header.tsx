import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { describeLiveFailure } from "../../api/failure.ts";
import { ActionMenu } from "../../components/page/action-menu.tsx";
import { usePages } from "../../components/page/pages.ts";
import { pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { formatDuration } from "../../components/time/time.ts";
import { createProjectQuery, createProjectStatsQuery } from "../projects/queries.ts";
import { DeleteProject, EditProject } from "./project-dialogs.tsx";
import type { ProjectAddress } from "./run-list-search.ts";
import type { RunList } from "./use-run-list.ts";

const route = getRouteApi("/o/$tenantId/projects/p/$projectId");

/** The project's name, statistics of the last hour, and its actions. */
export const ProjectHeader = ({
  address,
  list,
  isPaused,
}: {
  readonly address: ProjectAddress;
  /** `undefined` if no list is shown. */
  readonly list: RunList | undefined;
  readonly isPaused: boolean;
}) => {
  const { data: project } = useQuery(createProjectQuery(address.projectId));
  const { data: stats } = useQuery(createProjectStatsQuery(address.projectId));
  const [openDialog, setOpenDialog] = useState<"edit" | "delete">();
  const close = (): void => setOpenDialog(undefined);
  const statisticTexts = [
    stats === undefined ? undefined : `Last hour: ${pluralize(stats.traceCount, "trace")}`,
    stats?.errorRate === undefined ? undefined : `${(stats.errorRate * 100).toFixed(1)} % errors`,
    stats?.latencyP50Ms === undefined ? undefined : `p50 ${formatDuration(stats.latencyP50Ms)}`,
    stats?.latencyP99Ms === undefined ? undefined : `p99 ${formatDuration(stats.latencyP99Ms)}`,
  ].filter((figure) => figure !== undefined);
  return (
    <div className="heading">
      <h1>
        <bdi>{toVisibleText(project?.name ?? "Project")}</bdi>
      </h1>
      <p className="summary">
        {statisticTexts.map((figure) => (
          <span key={figure}>{figure}</span>
        ))}
      </p>
      {list !== undefined && <LiveStatus list={list} isPaused={isPaused} />}
      {project !== undefined && (
        <span className="tools">
          <ProjectPages />
          <ActionMenu
            label="Project actions"
            actions={[
              { label: "Edit project", onClick: () => setOpenDialog("edit") },
              {
                label: "Delete project",
                onClick: () => setOpenDialog("delete"),
                isDestructive: true,
              },
            ]}
          />
        </span>
      )}
      {project !== undefined && project.description !== "" && (
        <p className="about project-about">{toVisibleText(project.description)}</p>
      )}
      {openDialog === "edit" && project !== undefined && (
        <EditProject project={project} onClose={close} />
      )}
      {openDialog === "delete" && project !== undefined && (
        <DeleteProject project={project} onClose={close} />
      )}
    </div>
  );
};

/**
 * Links to the pages of the project, with the state of the list. Each page uses the parts of the state that it
 * supports, such as the filter and the time range.
 */
const ProjectPages = () => {
  const { selected: _selected, compare: _compare, ...search } = route.useSearch();
  return usePages()
    .filter(({ path }) => path.startsWith(`${route.id}/`))
    .map(({ path, params, title }) => (
      <Button
        key={path}
        size="compact-sm"
        variant="default"
        renderRoot={(props) => <Link to={path} params={params} search={search} {...props} />}
      >
        {title}
      </Button>
    ));
};

/** Shows whether the list polls for new runs, and how many runs arrived while it was paused. */
const LiveStatus = ({ list, isPaused }: { readonly list: RunList; readonly isPaused: boolean }) => {
  if (list.error !== null) {
    return <output className="live failed">{describeLiveFailure(list.error)}</output>;
  }
  if (list.newCount > 0) {
    return (
      <Button
        size="compact-sm"
        variant="light"
        onClick={() => {
          list.resume();
          document.querySelector(".data-table")?.scrollTo({ top: 0 });
        }}
      >
        Show {pluralize(list.newCount, "new run")}
      </Button>
    );
  }
  if (!list.isLive) {
    return (
      <span className="live" title="Sort by start, newest first, to see new runs as they arrive.">
        Not live
      </span>
    );
  }
  return <span className={isPaused ? "live" : "live on"}>{isPaused ? "Paused" : "Live"}</span>;
};
