import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { tenantQuery } from "../../../api/tenant.ts";
import { Empty, Failure, Loading } from "../../../components/page/states.tsx";
import { pluralize } from "../../../components/text/quantity.ts";
import { toVisibleText } from "../../../components/text/visible-text.ts";
import { createDatasetsQuery } from "../../datasets/queries.ts";
import "./launch.css";

const route = getRouteApi("/experiments/new");

/** The page `/experiments/new?prompt={prompt}`: lets the user choose the dataset over which a prompt is run. */
export const ChooseDataset = () => {
  const search = route.useSearch();
  const { data: tenant } = useQuery(tenantQuery);
  const datasets = useInfiniteQuery(createDatasetsQuery({}));
  const listedDatasets = datasets.data?.pages.flat();
  return (
    <div>
      <title>New experiment · Millrace</title>
      <header className="heading">
        <h1>New experiment</h1>
      </header>
      {listedDatasets === undefined && datasets.error === null && (
        <Loading resourceName="the datasets" />
      )}
      {listedDatasets === undefined && datasets.error !== null && (
        <Failure resourceName="the datasets" error={datasets.error} onRetry={datasets.refetch} />
      )}
      {listedDatasets?.length === 0 && (
        <Empty title="No datasets yet">
          <p>An experiment runs a prompt over the examples of a dataset. Create a dataset first.</p>
        </Empty>
      )}
      {listedDatasets !== undefined && listedDatasets.length > 0 && tenant !== undefined && (
        <ul className="launch-datasets" aria-label="Datasets">
          {listedDatasets.map(({ id, name, exampleCount }) => (
            <li key={id}>
              <Link
                to="/o/$tenantId/datasets/$datasetId/new-experiment"
                params={{ tenantId: tenant.id, datasetId: id }}
                search={search}
              >
                <bdi>{toVisibleText(name)}</bdi>
              </Link>{" "}
              <span className="quiet">{pluralize(exampleCount, "example")}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
};
