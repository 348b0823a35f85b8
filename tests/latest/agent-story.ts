import { OpenAIProvider, Runner, setTraceProcessors, setTracingDisabled } from "@openai/agents";
import type { TracingProcessor } from "@openai/agents";
import OpenAI from "openai";
import { expect } from "vitest";
import { runServer } from "../../server/tests/support/running-server.ts";
import { MillraceTracingProcessor } from "../../src/integrations/openai-agents/index.ts";
import { Client, isInModelCall, withRun } from "../../src/main/index.ts";
import type { Run } from "../../src/main/index.ts";
import { startFakeOpenAi } from "./fake-openai.ts";
import type { Answer } from "./fake-openai.ts";

/** What agents do, in a program that records them. */
export interface Story {
  readonly answers: readonly Answer[];
  readonly api?: "responses" | "chat_completions";
  /** Changes the client of the model before it is used. */
  readonly prepare?: (openAi: OpenAI, client: Client) => void;
  /** Below a run named "answer". */
  readonly work: (runner: Runner, client: Client) => Promise<unknown>;
}

/** What is known after a story. */
export interface Told {
  readonly runs: readonly Run[];
  readonly lines: readonly string[];
  /** Whether each request to the model was made within the run of a model call. */
  readonly inModelCall: readonly boolean[];
}

/** Runs agents against a fake API, and returns what the server then has. */
export async function tell({ answers, api = "responses", prepare, work }: Story): Promise<Told> {
  // The Agents SDK switches its tracing off in tests.
  setTracingDisabled(false);
  const { url } = await runServer();
  const client = new Client({ endpoint: url, projectName: "agents" });
  const processor: TracingProcessor = new MillraceTracingProcessor({ client });
  setTraceProcessors([processor]);
  const { baseURL } = await startFakeOpenAi(answers);
  const inModelCall: boolean[] = [];
  const openAIClient = new OpenAI({
    baseURL,
    apiKey: "none",
    maxRetries: 0,
    fetch: (...args: Parameters<typeof fetch>) => {
      inModelCall.push(isInModelCall());
      return fetch(...args);
    },
  });
  prepare?.(openAIClient, client);
  const modelProvider = new OpenAIProvider({
    openAIClient,
    useResponses: api === "responses",
  });
  const outer = client.startRun({ name: "answer" });
  await withRun(outer, () => work(new Runner({ modelProvider, model: "gpt-test" }), client));
  outer.end();
  await processor.forceFlush();
  const runs = await client.runs.list({ projectNames: ["agents"], order: "asc" }).toArray();
  await client.close();
  const sorted = runs.toSorted((left, right) =>
    String(left.dottedOrder) < String(right.dottedOrder) ? -1 : 1,
  );
  const names = new Map(sorted.map(({ id, name }) => [id, name]));
  const lines = sorted.map(({ name, runType, parentRunId }) =>
    parentRunId === undefined
      ? name
      : `${names.get(parentRunId) ?? "missing"} > ${name} (${runType})`,
  );
  expect(sorted.filter(({ endTime }) => endTime === undefined)).toEqual([]);
  return { runs: sorted, lines, inModelCall };
}

export const named = ({ runs }: Told, name: string): Run => {
  const found = runs.filter((each) => each.name === name);
  expect(found.map((each) => each.name)).toEqual([name]);
  return found[0]!;
};
