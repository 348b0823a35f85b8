import { Empty } from "../states.tsx";

/** `/o/{tenantId}/annotation-queues/{queueId}`: the review page of one queue. */
export const Queue = () => (
  <>
    <title>Annotation queue · Millrace</title>
    <Empty title="Annotation queue">
      <p>Runs that wait for a person's judgement.</p>
    </Empty>
  </>
);
