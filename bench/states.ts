/** Two workloads with a special shape of payload. Like all workloads they are generated from a seed. */
import { createRandom, createText } from "./workload.ts";
import type { Payload } from "./workload.ts";

const agentStates = 100;
const conversationTurns = 200;
const turnBytes = 280;

/**
 * The state of an agent at each step: deeply nested, with hundreds of small fields such as numbers, flags and short
 * texts.
 */
export function createAgentStates(seed = 1): readonly Payload[] {
  const random = createRandom(seed);
  return Array.from({ length: agentStates }, (_, step) => ({
    ...stepFields,
    inputs: { state: createNode(random, 5), step },
    outputs: { state: createNode(random, 4), next: "plan" },
  }));
}

const stepFields = { name: "step", runType: "chain", metadata: { release: "2026.11.1" } } as const;

function createNode(random: () => number, depth: number): Readonly<Record<string, unknown>> {
  const fields = {
    id: Math.floor(random() * 1e9),
    score: random(),
    done: random() < 0.5,
    parent: null,
    status: random() < 0.5 ? "waiting" : "running",
    note: createText(random, 12),
  };
  return depth === 0
    ? fields
    : { ...fields, left: createNode(random, depth - 1), right: createNode(random, depth - 1) };
}

/** A conversation in which each run has the messages of all turns so far, as a chat sends them to a model. */
export function createConversation(seed = 1): readonly Payload[] {
  const random = createRandom(seed);
  const messages = Array.from({ length: conversationTurns }, (_, turn) => ({
    role: turn % 2 === 0 ? "user" : "assistant",
    content: createText(random, turnBytes),
  }));
  return messages.map((reply, turn) => ({
    name: "chat",
    runType: "llm",
    metadata: stepFields.metadata,
    inputs: { messages: messages.slice(0, turn), model: "chat-large-2" },
    outputs: { message: reply },
  }));
}
