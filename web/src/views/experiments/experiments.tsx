import { Empty } from "../states.tsx";
export const Experiments = (_: { readonly datasetId: string; readonly tenantId: string }) => (
  <Empty title="Experiments" />
);
