import { Link } from "@tanstack/react-router";
import { toVisibleText } from "../../components/text/visible-text.ts";
import type { Project } from "./project.ts";

/** The projects that are experiments, each with a link to its runs. Users compare experiments on a dataset's page. */
export const ExperimentList = ({ experiments }: { readonly experiments: readonly Project[] }) => (
  <section className="table-section">
    <h2>{experiments.length === 1 ? "1 experiment" : `${experiments.length} experiments`}</h2>
    <ul className="experiment-list">
      {experiments.map(({ id, tenantId, name }) => (
        <li key={id}>
          <Link
            to="/o/$tenantId/projects/p/$projectId"
            params={{ tenantId, projectId: id }}
            search={{}}
          >
            {toVisibleText(name)}
          </Link>
        </li>
      ))}
    </ul>
  </section>
);
