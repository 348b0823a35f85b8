import { Empty } from "../states.tsx";

/** `/public/{token}/r`: a shared run, for whoever has the link. */
export const SharedRun = () => (
  <>
    <title>Shared run · Millrace</title>
    <Empty title="Shared run">
      <p>A run that someone shares by its link.</p>
    </Empty>
  </>
);
