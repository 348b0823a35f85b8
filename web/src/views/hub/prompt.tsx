import { Empty } from "../states.tsx";

/** `/prompts/{repo}[/{commit}]` and `/hub/{owner}/{repo}[/{commit}]`: one prompt. */
export const Prompt = () => (
  <>
    <title>Prompt · Millrace</title>
    <Empty title="Prompt">
      <p>A prompt and its versions.</p>
    </Empty>
  </>
);
