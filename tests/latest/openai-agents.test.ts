import {
  Agent,
  addTraceProcessor,
  setTraceProcessors,
  setTracingDisabled,
  tool,
  withCustomSpan,
  withTrace,
} from "@openai/agents";
import type { TracingProcessor } from "@openai/agents";
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { runServer } from "../../server/tests/support/running-server.ts";
import { MillraceTracingProcessor } from "../../src/integrations/openai-agents/index.ts";
import { Client, currentRun, traceable } from "../../src/main/index.ts";
import type { Run } from "../../src/main/index.ts";
import { named, tell } from "./agent-story.ts";

beforeAll(() => {
  // The Agents SDK switches its tracing off in tests.
  setTracingDisabled(false);
});

const lookUp = traceable(async (city: string) => `rain in ${city}`, { name: "look up" });
const weather = tool({
  name: "weather",
  description: "the weather",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    currentRun()?.addTags("in the tool");
    return await lookUp(city);
  },
});
const callOfWeather = [{ name: "weather", arguments: { city: "Bern" } }];
const forecaster = new Agent({ name: "Forecaster", instructions: "Be brief.", tools: [weather] });

const weatherLines = [
  "answer",
  "answer > Agent workflow (chain)",
  "Agent workflow > Agent workflow (chain)",
  "Agent workflow > Forecaster (chain)",
  "Forecaster > turn 1 (chain)",
  "turn 1 > response (llm)",
  "turn 1 > weather (tool)",
  "weather > look up (chain)",
  "Forecaster > turn 2 (chain)",
  "turn 2 > response (llm)",
];

describe("an agent of the Agents SDK", () => {
  test("has its model calls and tools below the current run, and traced functions below its tools", async () => {
    let output: unknown;
    const told = await tell({
      answers: [callOfWeather, "It rains."],
      work: async (runner) => {
        output = (await runner.run(forecaster, "How is the weather in Bern?")).finalOutput;
      },
    });
    expect(output).toBe("It rains.");
    expect(told.lines).toEqual(weatherLines);
    expect(told.inModelCall).toEqual([true, true]);
  });

  test("records inputs, outputs, tokens and the model", async () => {
    const told = await tell({
      answers: [callOfWeather, "It rains."],
      work: (runner) => runner.run(forecaster, "How is the weather in Bern?"),
    });
    const call = named({ ...told, runs: told.runs.filter((_, index) => index !== 9) }, "response");
    expect(call.inputs).toMatchObject({
      input: [{ role: "user", content: "How is the weather in Bern?" }],
    });
    expect(call.outputs).toMatchObject({
      id: "resp_1",
      output: [{ type: "function_call", name: "weather" }],
      usage_metadata: {
        input_tokens: 12,
        output_tokens: 3,
        total_tokens: 15,
        input_token_details: { cache_read: 4 },
        output_token_details: { reasoning: 1 },
      },
    });
    expect(call.extra?.metadata).toMatchObject({
      ls_provider: "openai",
      ls_model_name: "gpt-test",
      ls_model_type: "chat",
    });
    expect(call).toMatchObject({ promptTokens: 12, completionTokens: 3, totalTokens: 15 });
    expect(named(told, "weather")).toMatchObject({
      inputs: { city: "Bern" },
      outputs: { output: "rain in Bern" },
      tags: ["in the tool"],
    });
    expect(named(told, "Forecaster")).toMatchObject({
      inputs: { input: [{ content: "How is the weather in Bern?" }] },
      outputs: { output: "It rains." },
      extra: { metadata: { tools: ["weather"] } },
    });
    // Those of the two model calls, each once: the agents around them report the same tokens again.
    expect(
      told.runs.map(({ totalTokens }) => totalTokens ?? 0).reduce((sum, each) => sum + each),
    ).toBe(30);
  });

  test.each([
    ["responses", "response", 15],
    ["chat_completions", "generation", 9],
  ] as const)("that is streamed by %s records the same", async (api, name, totalTokens) => {
    const told = await tell({
      api,
      answers: [callOfWeather, "It rains."],
      work: async (runner) => {
        const stream = await runner.run(forecaster, "How is the weather in Bern?", {
          stream: true,
        });
        for await (const event of stream) {
          expect(event.type).toBeTypeOf("string");
        }
        await stream.completed;
      },
    });
    expect(told.lines).toEqual(weatherLines.map((line) => line.replace("response", name)));
    expect(told.inModelCall).toEqual([true, true]);
    expect(told.runs.at(-1)).toMatchObject({ totalTokens });
    expect(named(told, "Forecaster").outputs).toEqual({ output: "It rains." });
  });

  test("records chat completions as generations", async () => {
    const told = await tell({
      api: "chat_completions",
      answers: [callOfWeather, "It rains."],
      work: (runner) => runner.run(forecaster, "How is the weather in Bern?"),
    });
    expect(told.lines).toEqual(weatherLines.map((line) => line.replace("response", "generation")));
    expect(told.inModelCall).toEqual([true, true]);
    expect(told.runs.at(-1)).toMatchObject({
      inputs: {
        messages: [{ role: "system" }, { role: "user" }, { role: "assistant" }, { role: "tool" }],
      },
      outputs: {
        choices: [{ message: { content: "It rains." } }],
        usage_metadata: {
          input_tokens: 7,
          output_tokens: 2,
          input_token_details: { cache_read: 5 },
        },
      },
      totalTokens: 9,
    });
    expect(named(told, "Forecaster").outputs).toEqual({ output: "It rains." });
  });

  test("records handoffs, guardrails and custom spans", async () => {
    const specialist = new Agent({ name: "Specialist" });
    const triage = new Agent({
      name: "Triage",
      handoffs: [specialist],
      inputGuardrails: [
        {
          name: "polite",
          execute: async () => ({ tripwireTriggered: false, outputInfo: {} }),
        },
      ],
    });
    const told = await tell({
      answers: [[{ name: "transfer_to_Specialist", arguments: {} }], "Done."],
      work: (runner) =>
        withTrace(
          "support",
          async () => {
            await withCustomSpan(
              async () => {
                await lookUp("Bern");
              },
              { data: { name: "prepare", data: { steps: 2 } } },
            );
            await runner.run(triage, "Help");
          },
          { groupId: "chat-17", metadata: { customer: "c" } },
        ),
    });
    expect(told.lines.filter((line) => !line.includes("turn"))).toEqual([
      "answer",
      "answer > support (chain)",
      "support > prepare (chain)",
      "prepare > look up (chain)",
      "support > Agent workflow (chain)",
      "Agent workflow > Triage (chain)",
      "Triage > polite (chain)",
      "Agent workflow > Specialist (chain)",
    ]);
    expect(named(told, "handoff")).toMatchObject({
      inputs: { from_agent: "Triage" },
      outputs: { to_agent: "Specialist" },
    });
    expect(named(told, "polite").outputs).toEqual({ triggered: false });
    expect(named(told, "prepare").outputs).toEqual({ steps: 2 });
    expect(named(told, "support").extra?.metadata).toMatchObject({ customer: "c" });
    // The group of a trace is the thread of all its runs.
    expect(told.runs.slice(1).map(({ extra }) => extra?.metadata?.["thread_id"])).toEqual(
      Array(told.runs.length - 1).fill("chat-17"),
    );
  });

  test("whose model call fails, or whose guardrail is triggered, ends each run", async () => {
    const told = await tell({
      answers: [new Error("no such model")],
      work: async (runner) => {
        await expect(runner.run(forecaster, "Help")).rejects.toThrow("no such model");
      },
    });
    expect(named(told, "response").error).toContain("no such model");
    // The Agents SDK does not report the end of a trace that throws.
    const [, trace, task] = told.runs;
    expect(trace).toMatchObject({ name: "Agent workflow", error: task?.error });
    expect(task?.error).toContain("no such model");
    const guarded = new Agent({
      name: "Guarded",
      inputGuardrails: [
        {
          name: "strict",
          runInParallel: false,
          execute: async () => ({ tripwireTriggered: true, outputInfo: {} }),
        },
      ],
    });
    const stopped = await tell({
      answers: [],
      work: async (runner) => {
        await expect(runner.run(guarded, "Help")).rejects.toThrow("guardrail triggered");
      },
    });
    expect(named(stopped, "strict").outputs).toEqual({ triggered: true });
  });

  test("whose tool fails records the error of the tool", async () => {
    const broken = tool({
      name: "broken",
      description: "fails",
      parameters: z.object({}),
      execute: async () => {
        throw new Error("no bridge");
      },
    });
    const told = await tell({
      answers: [[{ name: "broken", arguments: {} }], "Sorry."],
      work: (runner) => runner.run(new Agent({ name: "Clumsy", tools: [broken] }), "Go"),
    });
    // The text of the error is the Agents SDK's.
    expect(named(told, "broken").error).toContain("Error running tool (non-fatal)");
  });

  test("excludes sensitive data if the program does", async () => {
    const told = await tell({
      answers: [callOfWeather, "It rains."],
      work: async (runner) => {
        Object.assign(runner.config, { traceIncludeSensitiveData: false });
        await runner.run(forecaster, "s3cr3t");
      },
    });
    const own = told.runs.filter(({ name }) => name !== "look up");
    expect(own).toHaveLength(9);
    expect(JSON.stringify(own)).not.toMatch(/s3cr3t|It rains|Bern/);
  });

  test("inside the tool of another agent nests in the tool's run", async () => {
    const expert = new Agent({ name: "Expert" });
    const leader = new Agent({
      name: "Leader",
      tools: [expert.asTool({ toolName: "ask_expert", toolDescription: "asks" })],
    });
    const told = await tell({
      answers: [[{ name: "ask_expert", arguments: { input: "why?" } }], "Because.", "Done."],
      work: (runner) => runner.run(leader, "Why?"),
    });
    const byId = new Map(told.runs.map((each) => [each.id, each]));
    const ancestors: string[] = [];
    for (let each: Run | undefined = named(told, "Expert"); each !== undefined;) {
      ancestors.push(each.name);
      each = byId.get(each.parentRunId ?? "");
    }
    expect(ancestors).toContain("ask_expert");
    expect(named(told, "Expert").outputs).toEqual({ output: "Because." });
    expect(named(told, "Leader").outputs).toEqual({ output: "Done." });
  });

  test("several at once keep their model calls apart", async () => {
    const told = await tell({
      answers: ["One.", "Two.", "Three."],
      work: (runner) =>
        Promise.all(["A", "B", "C"].map((name) => runner.run(new Agent({ name }), name))),
    });
    expect(told.inModelCall).toEqual([true, true, true]);
    for (const name of ["A", "B", "C"]) {
      const agent = named(told, name);
      const turn = told.runs.find(({ parentRunId }) => parentRunId === agent.id);
      const calls = told.runs.filter(({ parentRunId }) => parentRunId === turn?.id);
      expect(calls.map((call) => [call.name, call.inputs?.["input"]])).toEqual([
        ["response", [expect.objectContaining({ content: name })]],
      ]);
    }
  });

  test("leaves the current run as it was, also while it runs", async () => {
    const seen: (string | undefined)[] = [];
    await tell({
      answers: ["Done."],
      work: async (runner) => {
        const running = runner.run(forecaster, "Go");
        seen.push(currentRun()?.name);
        await running;
        seen.push(currentRun()?.name);
      },
    });
    expect(seen).toEqual(["answer", "answer"]);
  });
});

const doNothing = async (): Promise<void> => {};

test("added beside another processor that is slower, it records the same runs", async () => {
  const told = await tell({
    answers: [callOfWeather, "It rains."],
    work: async (runner, client) => {
      const slow: TracingProcessor = {
        onTraceStart: doNothing,
        onTraceEnd: doNothing,
        onSpanStart: () => delay(20),
        onSpanEnd: doNothing,
        shutdown: doNothing,
        forceFlush: doNothing,
      };
      setTraceProcessors([slow]);
      addTraceProcessor(new MillraceTracingProcessor({ client }));
      await runner.run(forecaster, "How is the weather in Bern?");
      // The starts that are still delayed, after the ends.
      await delay(100);
    },
  });
  expect(told.lines.toSorted()).toEqual(weatherLines.toSorted());
  expect(told.inModelCall).toEqual([true, true]);
});

test("without a client and a current run, the default client records", async () => {
  const { url } = await runServer();
  const client = new Client({ endpoint: url, projectName: "default client" });
  setTraceProcessors([new MillraceTracingProcessor({ tags: ["t"], metadata: { m: 1 } })]);
  await withTrace("alone", async () => {
    expect(currentRun()?.name).toBe("alone");
  });
  await client.flush();
  const [found] = await client.runs.list({ projectNames: ["default client"] }).toArray();
  await client.close();
  expect(found).toMatchObject({ name: "alone", tags: ["t"], extra: { metadata: { m: 1 } } });
});
