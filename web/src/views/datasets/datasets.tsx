import { Empty } from "../states.tsx";

/** `/o/{tenantId}/datasets`: the tenant's datasets. */
export const Datasets = () => (
  <>
    <title>Datasets · Millrace</title>
    <Empty title="Datasets">
      <p>Examples to test an application on.</p>
    </Empty>
  </>
);
