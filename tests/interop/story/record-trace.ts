import type { Client } from "millrace";
import type { StoryContext } from "./story-context.ts";

/** Creates the function with which a story records traces through the client. */
export const recordTraceWith =
  (client: Client): StoryContext["recordTrace"] =>
  async ({ project, referenceExampleId } = {}) => {
    const startedAt = new Date();
    const root = client.startRun({
      name: "root",
      parent: null,
      projectName: project,
      referenceExampleId,
      inputs: { q: "how" },
    });
    const child = root.startChild({ name: "child", inputs: { q: "deep" } });
    child.end({ a: 1 });
    root.end({ a: 2 });
    await client.flush();
    return { rootId: root.id, childId: child.id, startedAt };
  };
