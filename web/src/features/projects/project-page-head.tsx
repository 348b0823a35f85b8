import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { UrlTimes } from "../../components/time/time-range.ts";
import { createProjectQuery } from "./queries.ts";

/** The heading of a page of a project: a link back to the run list, the title, and the controls of the page. */
export const ProjectPageHead = ({
  address: { tenantId, projectId },
  title,
  filter,
  times,
  children,
}: {
  readonly address: { readonly tenantId: string; readonly projectId: string };
  readonly title: string;
  /** The filter that the link back to the run list restores. */
  readonly filter?: string | undefined;
  /** The state of the run list, such as its time range, that the link back to the run list restores. */
  readonly times?: UrlTimes;
  readonly children: ReactNode;
}) => {
  const { data: project } = useQuery(createProjectQuery(projectId));
  return (
    <div className="heading">
      <div>
        <p className="crumbs">
          <Link
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId }}
            search={{ ...times, ...(filter === undefined ? {} : { filter }) }}
          >
            {toVisibleText(project?.name ?? "Project")}
          </Link>
        </p>
        <h1>{title}</h1>
      </div>
      {children}
    </div>
  );
};
