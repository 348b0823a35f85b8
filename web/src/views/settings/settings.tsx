import { Empty } from "../states.tsx";

/** `/o/{tenantId}/settings`: keys, tenants, storage and appearance. */
export const Settings = () => (
  <>
    <title>Settings · Millrace</title>
    <Empty title="Settings">
      <p>Keys, tenants, storage and appearance.</p>
    </Empty>
  </>
);
