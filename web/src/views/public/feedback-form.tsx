import { Empty } from "../states.tsx";

/** `/feedback/tokens/{token}`: the form behind a feedback token. */
export const FeedbackForm = () => (
  <>
    <title>Feedback · Millrace</title>
    <Empty title="Feedback">
      <p>Say what you think of an answer.</p>
    </Empty>
  </>
);
