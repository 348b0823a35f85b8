import { Empty } from "../states.tsx";

/** `/o/{tenantId}/datasets/{datasetId}/compare`: experiments on one dataset, side by side. */
export const Compare = () => (
  <>
    <title>Experiments · Millrace</title>
    <Empty title="Experiments">
      <p>What experiments made of a dataset's examples, side by side.</p>
    </Empty>
  </>
);
