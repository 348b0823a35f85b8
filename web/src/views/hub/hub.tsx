import { Empty } from "../states.tsx";

/** `/hub`: public prompts of all owners. */
export const Hub = () => (
  <>
    <title>Prompt hub · Millrace</title>
    <Empty title="Prompt hub">
      <p>Public prompts.</p>
    </Empty>
  </>
);
