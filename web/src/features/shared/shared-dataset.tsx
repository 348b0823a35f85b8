import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { AbsentView } from "../../components/page/absent-view.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createSharedDatasetQuery } from "./queries.ts";
import { SharedExamples } from "./shared-examples.tsx";
import "../datasets/datasets.css";

const route = getRouteApi("/public/$token/d");

/** The page `/public/{token}/d`: a shared dataset, for everyone with the link. */
export const SharedDataset = () => {
  const { token } = route.useParams();
  const { data: dataset, error, refetch } = useQuery(createSharedDatasetQuery(token));
  if (dataset === undefined) {
    return (
      <AbsentView
        title="Shared dataset"
        resourceName="the shared dataset"
        error={error}
        onRetry={refetch}
        missingMessage="The dataset may no longer be shared, or the link is incomplete."
      />
    );
  }
  return (
    <div className="fill">
      <title>{`${toVisibleText(dataset.name)} · Millrace`}</title>
      <div className="heading">
        <div>
          <p className="crumbs quiet">Shared dataset</p>
          <h1>
            <bdi>{toVisibleText(dataset.name)}</bdi>
          </h1>
          {(dataset.description ?? "") !== "" && (
            <p className="about">{toVisibleText(dataset.description ?? "")}</p>
          )}
        </div>
      </div>
      <SharedExamples token={token} />
    </div>
  );
};
