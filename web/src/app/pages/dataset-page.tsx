import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { DatasetMenu } from "../../features/datasets/dataset-menu.tsx";
import { datasetTabs } from "../../features/datasets/dataset-search.ts";
import type { DatasetTab } from "../../features/datasets/dataset-search.ts";
import type { Dataset } from "../../features/datasets/dataset.ts";
import { ExamplePanel } from "../../features/datasets/examples/example-panel.tsx";
import { Examples } from "../../features/datasets/examples/examples.tsx";
import { createDatasetQuery } from "../../features/datasets/queries.ts";
import { Versions } from "../../features/datasets/versions/versions.tsx";
import { Comparisons } from "../../features/experiments/comparisons.tsx";
import { Experiments } from "../../features/experiments/experiments.tsx";
import "../../features/datasets/datasets.css";

const route = getRouteApi("/o/$tenantId/datasets/$datasetId");

const tabLabels: { readonly [Tab in DatasetTab]: string } = {
  examples: "Examples",
  experiments: "Experiments",
  versions: "Versions",
  comparisons: "Pairwise",
};

/** The view of `/o/{tenantId}/datasets/{datasetId}`: one dataset. */
export const DatasetPage = () => {
  const { tenantId, datasetId } = route.useParams();
  const { tab = "examples", example, asOf } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: dataset, error, refetch } = useQuery(createDatasetQuery(datasetId));
  if (dataset === undefined) {
    return (
      <AbsentView title="Dataset" resourceName="the dataset" error={error} onRetry={refetch}>
        <Link to="/o/$tenantId/datasets" params={{ tenantId }}>
          Datasets
        </Link>
      </AbsentView>
    );
  }
  return (
    <div className="fill">
      <title>{`${toVisibleText(dataset.name)} · Millrace`}</title>
      <DatasetHead dataset={dataset} tenantId={tenantId} />
      <nav className="tabs" aria-label="Dataset views">
        {/* Every link has a `tab`, because the router would mark a link without `tab` as current on all tabs. */}
        {datasetTabs.map((name) => (
          <Link
            key={name}
            to="/o/$tenantId/datasets/$datasetId"
            params={{ tenantId, datasetId }}
            search={{ tab: name }}
            aria-current={name === tab ? "page" : undefined}
          >
            {tabLabels[name]}
            {name === "examples" && <Count value={dataset.exampleCount} />}
            {name === "experiments" && <Count value={dataset.experimentCount} />}
          </Link>
        ))}
      </nav>
      <div className="dataset-body" data-panel={example !== undefined || undefined}>
        {tab === "examples" && <Examples dataset={dataset} />}
        {tab === "versions" && <Versions datasetId={datasetId} />}
        {tab === "experiments" && <Experiments datasetId={datasetId} tenantId={tenantId} />}
        {tab === "comparisons" && <Comparisons datasetId={datasetId} tenantId={tenantId} />}
        {example !== undefined && tab === "examples" && (
          <ExamplePanel
            key={`${example} ${asOf ?? ""}`}
            datasetId={datasetId}
            exampleId={example}
            asOf={asOf}
            tenantId={tenantId}
            onClose={() => void navigate({ search: ({ example: _closed, ...search }) => search })}
          />
        )}
      </div>
    </div>
  );
};

const Count = ({ value }: { readonly value: number }) => (
  <span className="dataset-count">{value.toLocaleString("en")}</span>
);

const DatasetHead = ({
  dataset,
  tenantId,
}: {
  readonly dataset: Dataset;
  readonly tenantId: string;
}) => (
  <div className="heading">
    <div>
      <p className="crumbs">
        <Link to="/o/$tenantId/datasets" params={{ tenantId }}>
          Datasets
        </Link>
      </p>
      <h1>
        <bdi>{toVisibleText(dataset.name)}</bdi>
      </h1>
      {(dataset.description ?? "") !== "" && (
        <p className="about">{toVisibleText(dataset.description ?? "")}</p>
      )}
    </div>
    <DatasetMenu dataset={dataset} tenantId={tenantId} />
  </div>
);
