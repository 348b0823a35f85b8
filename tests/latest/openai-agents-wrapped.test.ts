import { Agent, tool } from "@openai/agents";
import type OpenAI from "openai";
import { expect, test } from "vitest";
import { z } from "zod";
import { wrapOpenAI } from "../../src/integrations/openai/index.ts";
import { tell } from "./agent-story.ts";

const answers = [[{ name: "ask", arguments: {} }], "inside", "Done."] as const;

for (const api of ["responses", "chat_completions"] as const) {
  for (const stream of [false, true]) {
    test(`a wrapped client adds no run to an agent's model calls: ${api}, ${stream ? "streamed" : "at once"}`, async () => {
      let wrapped: OpenAI | undefined;
      const ask = tool({
        name: "ask",
        description: "asks",
        parameters: z.object({}),
        // A call of the program's own is recorded, below the tool.
        execute: async () =>
          (await wrapped!.responses.create({ model: "gpt-test", input: "why?" })).output_text,
      });
      const { lines, inModelCall } = await tell({
        answers,
        api,
        prepare: (openAi, client) => {
          wrapped = wrapOpenAI(openAi, { client });
        },
        work: async (runner) => {
          const agent = new Agent({ name: "Asker", tools: [ask] });
          if (stream) {
            const result = await runner.run(agent, "Go", { stream: true });
            await result.completed;
          } else {
            await runner.run(agent, "Go");
          }
        },
      });
      const span = api === "responses" ? "response" : "generation";
      expect(inModelCall).toEqual([true, false, true]);
      expect(lines.filter((line) => line.includes("(llm)"))).toEqual([
        `turn 1 > ${span} (llm)`,
        expect.stringMatching(/^ask > .* \(llm\)$/),
        `turn 2 > ${span} (llm)`,
      ]);
    });
  }
}
