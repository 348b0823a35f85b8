import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { Empty, Failure, Loading } from "../../components/page/states.tsx";
import { findFirstProject, ProjectOptions } from "../projects/project-options.tsx";
import type { Project } from "../projects/project.ts";
import { createProjectQuery, createProjectSearchQuery } from "../projects/queries.ts";
import { AlertForm } from "./alert-form.tsx";
import { AlertList } from "./alert-list.tsx";
import { RuleForm } from "./rule-form.tsx";
import { RuleList } from "./rule-list.tsx";
import { rulesTabs } from "./rules-search.ts";
import type { RulesSearch, RulesTab } from "./rules-search.ts";
import { WebhookForm } from "./webhook-form.tsx";
import { WebhookList } from "./webhook-list.tsx";
import "./rules.css";

const route = getRouteApi("/o/$tenantId/rules");

const tabLabels: { readonly [Tab in RulesTab]: string } = {
  rules: "Rules",
  alerts: "Alerts",
  webhooks: "Webhooks",
};

const newLabels: { readonly [Tab in RulesTab]: string } = {
  rules: "New rule",
  alerts: "New alert",
  webhooks: "New webhook",
};

/** The page `/o/{tenantId}/rules`: the rules and alerts of a project, and the webhooks of the tenant. */
export const RulesPage = () => {
  const { data: projects, error, refetch } = useQuery(createProjectSearchQuery(""));
  const { tenantId } = route.useParams();
  const search = route.useSearch();
  const { tab = "rules" } = search;
  const projectId = search.project ?? findFirstProject(projects ?? [])?.id;
  // The list of projects is limited, so the project in the URL may exist without being in the list.
  const isListed =
    projectId === undefined || (projects?.some(({ id }) => id === projectId) ?? true);
  const unlistedProject = useQuery({ ...createProjectQuery(projectId ?? ""), enabled: !isListed });
  const needsProject = tab !== "webhooks";
  if (!isListed && unlistedProject.data === undefined && needsProject) {
    return (
      <AbsentView
        title="Rules"
        resourceName="the project"
        error={unlistedProject.error}
        onRetry={unlistedProject.refetch}
      >
        <Link to="/o/$tenantId/rules" params={{ tenantId }} search={{ tab }}>
          Show another project
        </Link>
      </AbsentView>
    );
  }
  const selectableProjects =
    unlistedProject.data === undefined ? projects : [...(projects ?? []), unlistedProject.data];
  return (
    <div className="page">
      <title>{`${tabLabels[tab]} · Millrace`}</title>
      <div className="page-head">
        <h1>Rules</h1>
        <div className="tools">
          {needsProject && selectableProjects !== undefined && selectableProjects.length > 0 && (
            <ProjectSelect projects={selectableProjects} projectId={projectId} search={search} />
          )}
          {(projectId !== undefined || !needsProject) && (
            <NewButton key={tab} tab={tab} projectId={projectId ?? ""} search={search} />
          )}
        </div>
      </div>
      <nav className="tabs rules-tabs" aria-label="Rules sections">
        {rulesTabs.map((name) => (
          <Link
            key={name}
            to="/o/$tenantId/rules"
            params={{ tenantId }}
            search={{ ...(search.project && { project: search.project }), tab: name }}
            {...(name === tab && { "aria-current": "page" as const })}
          >
            {tabLabels[name]}
          </Link>
        ))}
      </nav>
      {tab === "webhooks" && <WebhookList />}
      {needsProject && projects === undefined && error === null && (
        <Loading resourceName="projects" />
      )}
      {needsProject && projects === undefined && error !== null && (
        <Failure resourceName="the projects" error={error} onRetry={refetch} />
      )}
      {needsProject && projects !== undefined && projectId === undefined && (
        <Empty title="No projects yet">
          <p>Record runs first. Rules and alerts belong to a project.</p>
          <Link to="/">Record your first run</Link>
        </Empty>
      )}
      {projectId !== undefined && projects !== undefined && tab === "rules" && (
        <RuleList key={projectId} projectId={projectId} tenantId={tenantId} />
      )}
      {projectId !== undefined && projects !== undefined && tab === "alerts" && (
        <AlertList key={projectId} projectId={projectId} tenantId={tenantId} />
      )}
    </div>
  );
};

const ProjectSelect = ({
  projects,
  projectId,
  search,
}: {
  readonly projects: readonly Project[];
  readonly projectId: string | undefined;
  readonly search: RulesSearch;
}) => {
  const navigate = useNavigate();
  const { tenantId } = route.useParams();
  return (
    <NativeSelect
      aria-label="Project"
      value={projectId}
      onChange={({ target: { value } }) =>
        void navigate({
          to: "/o/$tenantId/rules",
          params: { tenantId },
          search: { ...(search.tab && { tab: search.tab }), project: value },
        })
      }
    >
      <ProjectOptions projects={projects} />
    </NativeSelect>
  );
};

/**
 * The button for the primary action of a tab. If the URL contains what the action is for, such as a metric or a filter,
 * the form of the action is open from the start.
 */
const NewButton = ({
  tab,
  projectId,
  search,
}: {
  readonly tab: RulesTab;
  readonly projectId: string;
  readonly search: RulesSearch;
}) => {
  const navigate = useNavigate();
  const { tenantId } = route.useParams();
  const isOpenedByUrl =
    (tab === "alerts" && (search.figure ?? search.group) !== undefined) ||
    (tab === "rules" && search.filter !== undefined);
  const [isOpen, setIsOpen] = useState(isOpenedByUrl);
  const close = (): void => {
    setIsOpen(false);
    if (isOpenedByUrl) {
      void navigate({
        to: "/o/$tenantId/rules",
        params: { tenantId },
        search: { tab, project: projectId },
        replace: true,
      });
    }
  };
  return (
    <>
      <Button size="xs" onClick={() => setIsOpen(true)}>
        {newLabels[tab]}
      </Button>
      {isOpen && tab === "rules" && (
        <RuleForm projectId={projectId} filter={search.filter} onClose={close} />
      )}
      {isOpen && tab === "alerts" && (
        <AlertForm projectId={projectId} selection={search} onClose={close} />
      )}
      {isOpen && tab === "webhooks" && <WebhookForm onClose={close} />}
    </>
  );
};
