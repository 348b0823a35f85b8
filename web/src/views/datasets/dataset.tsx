import { Empty } from "../states.tsx";

/** `/o/{tenantId}/datasets/{datasetId}`: one dataset. */
export const Dataset = () => (
  <>
    <title>Dataset · Millrace</title>
    <Empty title="Dataset">
      <p>The examples of a dataset, and its versions.</p>
    </Empty>
  </>
);
