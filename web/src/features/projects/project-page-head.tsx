import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { UrlTimes } from "../../components/time/time-range.ts";
import { createProjectQuery } from "./queries.ts";

/** The head of a page of a project: the way back to its run list, the title, and the controls of the page. */
export const ProjectPageHead = ({
  address: { tenantId, projectId },
  title,
  filter,
  times,
  children,
}: {
  readonly address: { readonly tenantId: string; readonly projectId: string };
  readonly title: string;
  /** The filter that the run list had, and has again on the way back. */
  readonly filter?: string | undefined;
  /** The time range of the page, which the run list has on the way back. */
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
