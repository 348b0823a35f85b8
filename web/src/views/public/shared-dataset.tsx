import { Empty } from "../states.tsx";

/** `/public/{token}/d`: a shared dataset, for whoever has the link. */
export const SharedDataset = () => (
  <>
    <title>Shared dataset · Millrace</title>
    <Empty title="Shared dataset">
      <p>A dataset that someone shares by its link.</p>
    </Empty>
  </>
);
