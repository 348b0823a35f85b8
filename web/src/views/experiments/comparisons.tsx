import { Empty } from "../states.tsx";
export const Comparisons = (_: { readonly datasetId: string; readonly tenantId: string }) => (
  <Empty title="Comparisons" />
);
