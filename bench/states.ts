/** Two shapes of payload that a size does not say: seeded, as all workloads are. */
import { createRandom, createText } from "./workload.ts";
import type { Payload } from "./workload.ts";

const agentStates = 100;
const conversationTurns = 200;
const turnBytes = 280;

/** An agent's state at each step: deep, with some hundred small keys, numbers, flags and short texts. */
export function createAgentStates(seed = 1): readonly Payload[] {
  const random = createRandom(seed);
  return Array.from({ length: agentStates }, (_, step) => ({
    ...common,
    inputs: { state: createNode(random, 5), step },
    outputs: { state: createNode(random, 4), next: "plan" },
  }));
}

const common = { name: "step", runType: "chain", metadata: { release: "2026.11.1" } } as const;

function createNode(random: () => number, depth: number): Readonly<Record<string, unknown>> {
  const leaves = {
    id: Math.floor(random() * 1e9),
    score: random(),
    done: random() < 0.5,
    parent: null,
    status: random() < 0.5 ? "waiting" : "running",
    note: createText(random, 12),
  };
  return depth === 0
    ? leaves
    : { ...leaves, left: createNode(random, depth - 1), right: createNode(random, depth - 1) };
}

/** Each run has the messages of all turns so far: what a chat sends to a model, again and again. */
export function createConversation(seed = 1): readonly Payload[] {
  const random = createRandom(seed);
  const messages = Array.from({ length: conversationTurns }, (_, turn) => ({
    role: turn % 2 === 0 ? "user" : "assistant",
    content: createText(random, turnBytes),
  }));
  return messages.map((answer, turn) => ({
    name: "chat",
    runType: "llm",
    metadata: common.metadata,
    inputs: { messages: messages.slice(0, turn), model: "chat-large-2" },
    outputs: { message: answer },
  }));
}
