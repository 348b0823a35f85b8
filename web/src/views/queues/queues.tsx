import { Empty } from "../states.tsx";

/** `/o/{tenantId}/annotation-queues`: the queues, with how far each has come. */
export const Queues = () => (
  <>
    <title>Annotation queues · Millrace</title>
    <Empty title="Annotation queues">
      <p>Runs that wait for a person's judgement.</p>
    </Empty>
  </>
);
