import { Empty } from "../states.tsx";

/** `/prompts`: the tenant's prompts. */
export const Prompts = () => (
  <>
    <title>Prompts · Millrace</title>
    <Empty title="Prompts">
      <p>Prompts with their versions.</p>
    </Empty>
  </>
);
