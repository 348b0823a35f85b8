// An agent of LangGraph that calls tools, in which functions are traced, and chains of LangChain, started from each other.
import { setTimeout } from "node:timers/promises";
import { FakeListChatModel, FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  END,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { RunTree } from "langsmith";
import { getLangchainCallbacks, RunnableTraceable } from "langsmith/langchain";
import { getCurrentRunTree, traceable } from "langsmith/traceable";
import { z } from "zod";

const lookUp = traceable(
  async (city: string) => {
    getCurrentRunTree().metadata = { looked: city };
    return `rain in ${city}`;
  },
  { name: "look up", run_type: "retriever", tags: ["table"] },
);

const weather = tool(async ({ city }: { city: string }) => lookUp(city), {
  name: "weather",
  description: "The weather of a city",
  schema: z.object({ city: z.string() }),
});

const clock = tool(
  async ({ zone }: { zone: string }) => {
    if (zone === "nowhere") {
      throw new RangeError("no such zone");
    }
    return "12:00";
  },
  { name: "clock", description: "The time", schema: z.object({ zone: z.string() }) },
);

const callOfTools = new AIMessage({
  content: "",
  tool_calls: [
    { name: "weather", args: { city: "Bern" }, id: "call_1", type: "tool_call" },
    { name: "clock", args: { zone: "nowhere" }, id: "call_2", type: "tool_call" },
  ],
});

/** An agent: the model calls tools once, and then answers. */
function createAgent() {
  const model = new FakeStreamingChatModel({ responses: [new AIMessage("It rains.")] });
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", async ({ messages }) => {
      const isAnswered = messages.some((message) => ToolMessage.isInstance(message));
      return { messages: [isAnswered ? await model.invoke(messages) : callOfTools] };
    })
    .addNode("tools", new ToolNode([weather, clock]))
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : END,
    )
    .addEdge("tools", "agent")
    .compile({ checkpointer: new MemorySaver() });
}

/** A graph with branches that run at the same time, and a nested graph. */
function createResearch() {
  const State = Annotation.Root({
    topic: Annotation<string>,
    notes: Annotation<string[]>({
      reducer: (left, right) => [...left, ...right],
      default: () => [],
    }),
  });
  const inner = new StateGraph(State)
    .addNode("note", async ({ topic }) => ({ notes: [`${topic}: noted`] }))
    .addEdge(START, "note")
    .addEdge("note", END)
    .compile();
  return new StateGraph(State)
    .addNode("read", async ({ topic }) => ({ notes: [await lookUp(topic)] }))
    .addNode("deepen", inner)
    .addEdge(START, "read")
    .addEdge("read", "deepen")
    .addEdge("deepen", END)
    .compile();
}

const question = { messages: [new HumanMessage("How is the weather in Bern?")] };
const thread = { configurable: { thread_id: "t" } };

/** The agent alone: the root of a trace is LangChain's run. */
async function askAgent(): Promise<void> {
  const { messages } = await createAgent().invoke(question, { ...thread, runName: "agent run" });
  console.log(
    "agent",
    messages.map((message) => message.getType()).join(" "),
    messages.at(-1)?.content,
  );
}

/** The agent within a traced function, streamed. */
const streamAgent = traceable(
  async (input: { question: string }) => {
    const steps: string[] = [];
    for await (const step of await createAgent().stream(question, {
      ...thread,
      streamMode: "updates",
    })) {
      steps.push(Object.keys(step).join());
    }
    return { question: input.question, steps };
  },
  { name: "stream agent", metadata: { thread_id: "chat-7" } },
);

const chain = ChatPromptTemplate.fromMessages([["user", "Tell me about {topic}."]])
  .pipe(new FakeListChatModel({ responses: ["It is wet."] }))
  .pipe(new StringOutputParser())
  .withConfig({ runName: "tell", tags: ["chain"] });

const withChain = traceable(
  async (topic: string) => {
    const callbacks = await getLangchainCallbacks();
    const answer = await chain.invoke({ topic }, callbacks === undefined ? {} : { callbacks });
    return `${topic}: ${answer}`;
  },
  { name: "with chain", tags: ["outer"] },
);

const shout = traceable(async (text: string) => text.toUpperCase(), { name: "shout" });

/** A traced function within a chain. */
async function askChain(): Promise<void> {
  const loud = RunnableLambda.from(async (topic: string) => shout(topic)).withConfig({
    runName: "loud",
  });
  console.log("chain", await loud.invoke("rain"));
  const traced = RunnableTraceable.from(shout as never);
  console.log("traceable", await traced.invoke("sun"));
  const failing = RunnableLambda.from(() => {
    throw new TypeError("no clouds");
  }).withConfig({ runName: "failing" });
  console.log("failing", await failing.invoke("x").catch((error: unknown) => String(error)));
}

await askAgent();
console.log("streamed", (await streamAgent({ question: "weather?" })).steps);
console.log("research", (await createResearch().invoke({ topic: "snow" })).notes);
console.log(await withChain("fog"));
await askChain();
await setTimeout(100);
await RunTree.getSharedClient().awaitPendingTraceBatches();
