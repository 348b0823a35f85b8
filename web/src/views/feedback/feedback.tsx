import { Empty } from "../states.tsx";

/** `/o/{tenantId}/feedback`: feedback of a project over time. */
export const Feedback = () => (
  <>
    <title>Feedback · Millrace</title>
    <Empty title="Feedback">
      <p>How runs were judged.</p>
    </Empty>
  </>
);
