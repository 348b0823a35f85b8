import { MillraceTracingProcessor } from "millrace/openai-agents";
import type { Client } from "../client/client.ts";
import { warnOnce } from "../environment.ts";
import { chooseClient } from "./choose-client.ts";

/** Records the runs of the OpenAI Agents SDK, as `MillraceTracingProcessor` of `millrace/openai-agents` does. */
export class OpenAIAgentsTracingProcessor extends MillraceTracingProcessor {
  constructor(
    options: {
      client?: Client;
      metadata?: Record<string, unknown>;
      tags?: string[];
      projectName?: string;
      name?: string;
    } = {},
  ) {
    const { client, metadata, tags, projectName, name } = options;
    if (projectName !== undefined || name !== undefined) {
      warnOnce(
        "The options projectName and name of OpenAIAgentsTracingProcessor have no effect: set LANGSMITH_PROJECT, and workflowName of the agent's run.",
      );
    }
    super({
      client: chooseClient({ client }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(tags === undefined ? {} : { tags }),
    });
  }
}
