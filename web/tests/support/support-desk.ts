import type { Client, RunTree } from "millrace";

/** What a filled server has: a support assistant as a team would have recorded it over nine days. */
export interface SupportDesk {
  readonly datasetId: string;
  readonly experimentIds: readonly string[];
  readonly queueId: string;
  /** The trace that failed yesterday because its tool `lookup_order` failed. */
  readonly failedTraceId: string;
  /** The trace that takes the longest; its run `rerank` takes most of that time. */
  readonly slowTraceId: string;
  /** The user who had one conversation of three turns, with the thread id `chat-of-dana`. */
  readonly user: string;
}

export const supportProject = "support-bot";
export const supportPrompt = "support-answer";
export const thumbsKey = "thumbs";
export const dearerModel = "claude-sonnet-4-5";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const models = ["gpt-5", "gpt-5-mini", dearerModel] as const;
const releases = ["2.3.0", "2.3.1", "2.4.0"] as const;
const questions = [
  "Where is my order? It was due on Monday.",
  "How do I change the delivery address after the order was placed?",
  "The invoice has the wrong VAT number. Can you correct it?",
  "I would like to return the blue jacket, size M.",
  "My discount code SPRING24 is refused at the checkout.",
  "Can I pay by bank transfer, and how long does it take?",
  "The parcel arrived, but one of the three items is missing.",
  "How do I delete my account and everything you know about me?",
] as const;
const answers = [
  "Your order left our warehouse yesterday and should arrive **tomorrow before noon**. You can follow it with the link that we sent.",
  "Open *Orders*, select the order, and choose **Change address**. This works until the parcel is handed to the carrier.",
  "I have corrected the VAT number. The new invoice is in your account under *Documents*.",
  "You can return it within 30 days. Print the label under *Returns* and drop the parcel at any post office.",
  "SPRING24 ended on 31 May. I have added a code of the same value to your account.",
  "Yes. We reserve the items for five days; a transfer takes one to two working days.",
  "I am sorry about that. The missing item is on its way, free of charge.",
  "Under *Settings*, choose **Delete account**. We keep invoices for ten years, as the law demands, and nothing else.",
] as const;

/** Pseudorandom numbers from 0 to 1, the same ones at each call: the tasks have one right answer. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** Records `turns` turns of conversations, with tools, errors and feedback, and one of each other resource. */
export async function fillSupportDesk(
  client: Client,
  { turns = 1_200, now = Date.now() }: { readonly turns?: number; readonly now?: number } = {},
): Promise<SupportDesk> {
  const random = createRandom(7);
  const rated: { readonly runId: string; readonly score: 0 | 1 }[] = [];
  const reviewed: string[] = [];
  for (let index = 0; index < turns; index += 1) {
    // Four turns make a conversation. Half of all turns are of the last day.
    const conversation = Math.floor(index / 4);
    const ageMs = index % 8 < 4 ? random() * dayMs : dayMs + random() * 8 * dayMs;
    const root = recordTurn(client, {
      question: (index * 3 + conversation) % questions.length,
      at: now - 120_000 - ageMs,
      threadId: `chat-${conversation}`,
      user: `user-${conversation % 40}`,
      isDear: ageMs < 7 * dayMs,
      random,
    });
    if (index % 4 === 0) {
      rated.push({ runId: root.id, score: index % (turns / 50) === 0 ? 0 : 1 });
    }
    if (index % Math.ceil(turns / 12) === 0) {
      reviewed.push(root.id);
    }
  }
  const yesterday = now - 26 * hourMs;
  const failed = recordFailedLookup(client, yesterday);
  const slow = recordSlowTurn(client, now - 3 * hourMs);
  for (const turn of [0, 1, 2]) {
    recordTurn(client, {
      question: turn,
      at: now - 5 * hourMs + turn * 60_000,
      threadId: "chat-of-dana",
      user: "dana@example.com",
      isDear: true,
      random,
    });
  }
  await client.flush();
  for (const { runId, score } of rated) {
    await client.feedback.create({ runId, key: thumbsKey, score });
  }
  return {
    ...(await createDataset(client)),
    queueId: await createQueue(client, reviewed),
    ...(await createPrompt(client)),
    failedTraceId: failed.id,
    slowTraceId: slow.id,
    user: "dana@example.com",
  };
}

interface Turn {
  /** The index of the question and of its answer. */
  readonly question: number;
  readonly at: number;
  readonly threadId: string;
  readonly user: string;
  /** Whether the prompts of the dearer model are as long as they are since a week. */
  readonly isDear: boolean;
  readonly random: () => number;
}

/** One turn: search, a lookup of the order, and one or two model calls. Few of them fail. */
function recordTurn(client: Client, turn: Turn): RunTree {
  const { question, at, threadId, user, isDear, random } = turn;
  const model = models[Math.floor(random() * models.length)] ?? "gpt-5";
  const text = questions[question % questions.length] ?? "";
  const answer = answers[question % answers.length] ?? "";
  const messages = [
    { role: "system", content: "You help the customers of an online shop. Use the tools." },
    { role: "user", content: text },
  ];
  const searchMs = 20 + Math.round(random() * 120);
  const toolMs = searchMs + 30 + Math.round(random() * 200);
  const firstTokenMs = toolMs + 200 + Math.round(random() * 600);
  const endMs = firstTokenMs + 400 + Math.round(random() * random() * 6_000);
  const root = client.startRun({
    name: "support-agent",
    inputs: { messages: messages.slice(1) },
    tags: [random() < 0.8 ? "production" : "staging", random() < 0.5 ? "web" : "app"],
    metadata: {
      thread_id: threadId,
      user_id: user,
      release: releases[Math.floor(random() * releases.length)] ?? "2.4.0",
    },
    startTime: at,
  });
  root
    .startChild({
      name: "search-help",
      runType: "retriever",
      inputs: { query: text },
      startTime: at + 2,
    })
    .end(
      {
        documents: [
          { title: "Orders and delivery", score: 0.87 },
          { title: "Returns", score: 0.61 },
        ],
      },
      { endTime: at + searchMs },
    );
  const callId = `call_${question}`;
  const orderId = String(40_000 + Math.floor(random() * 9_000));
  root
    .startChild({
      name: "lookup_order",
      runType: "tool",
      inputs: { order_id: orderId },
      startTime: at + searchMs + 5,
    })
    .end({ order_id: orderId, status: "shipped", carrier: "DHL" }, { endTime: at + toolMs });
  const call = root.startChild({
    name: "draft-answer",
    runType: "llm",
    inputs: {
      model,
      messages: [
        ...messages,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: callId,
              type: "function",
              function: { name: "lookup_order", arguments: `{"order_id":"${orderId}"}` },
            },
          ],
        },
        { role: "tool", tool_call_id: callId, content: '{"status":"shipped","carrier":"DHL"}' },
      ],
    },
    metadata: {
      ls_model_name: model,
      ls_provider: model.startsWith("gpt") ? "openai" : "anthropic",
    },
    startTime: at + toolMs + 4,
  });
  call.addEvent({ name: "new_token", time: new Date(at + firstTokenMs).toISOString() });
  const growth = isDear && model === dearerModel ? 3 : 1;
  const input = (600 + Math.round(random() * 2_400)) * growth;
  const output = 80 + Math.round(random() * 300);
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  };
  if (random() < 0.03) {
    const error = new Error(`429 Too Many Requests: the quota of ${model} is used up`);
    call.fail(error, undefined, { endTime: at + endMs });
    root.fail(error, undefined, { endTime: at + endMs + 2 });
    return root;
  }
  call.end(
    { choices: [{ message: { role: "assistant", content: answer } }], usage_metadata: usage },
    { endTime: at + endMs },
  );
  root.end({ answer }, { endTime: at + endMs + 3 });
  return root;
}

function recordFailedLookup(client: Client, at: number): RunTree {
  const root = client.startRun({
    name: "support-agent",
    inputs: { messages: [{ role: "user", content: "Please cancel my order 48213." }] },
    tags: ["production"],
    metadata: { thread_id: "chat-cancel", user_id: "user-3" },
    startTime: at,
  });
  root
    .startChild({ name: "search-help", runType: "retriever", inputs: {}, startTime: at + 2 })
    .end({ documents: [] }, { endTime: at + 60 });
  const tool = root.startChild({
    name: "cancel_order",
    runType: "tool",
    inputs: { order_id: "48213" },
    startTime: at + 70,
  });
  const cause = new Error("connect ECONNREFUSED 10.0.3.7:8443");
  const error = new Error("The order service did not answer", { cause });
  tool.fail(error, undefined, { endTime: at + 3_070 });
  root.fail(error, undefined, { endTime: at + 3_080 });
  return root;
}

function recordSlowTurn(client: Client, at: number): RunTree {
  const root = client.startRun({
    name: "support-agent",
    inputs: { messages: [{ role: "user", content: "Which of your tents fits four people?" }] },
    tags: ["production"],
    metadata: { thread_id: "chat-tents", user_id: "user-9" },
    startTime: at,
  });
  const search = root.startChild({
    name: "search-products",
    runType: "retriever",
    inputs: { query: "tent four people" },
    startTime: at + 5,
  });
  for (let part = 0; part < 14; part += 1) {
    search
      .startChild({ name: `shard ${part}`, runType: "retriever", startTime: at + 10 + part * 90 })
      .end({ hits: part }, { endTime: at + 90 + part * 90 });
  }
  search
    .startChild({ name: "rerank", runType: "chain", startTime: at + 1_300 })
    .end({ kept: 5 }, { endTime: at + 41_300 });
  search.end({ documents: [] }, { endTime: at + 41_320 });
  root.end({ answer: "The *Fjell 4* and the *Tarn 4 XL*." }, { endTime: at + 42_000 });
  return root;
}

/** A dataset of 60 examples and two experiments on it; the second one is better, but wrong on the first ten examples. */
async function createDataset(
  client: Client,
): Promise<Pick<SupportDesk, "datasetId" | "experimentIds">> {
  const dataset = await client.datasets.create({
    name: "support-questions",
    description: "Questions of customers with approved answers",
  });
  const { exampleIds } = await client.examples.createMany({
    datasetId: dataset.id,
    examples: Array.from({ length: 60 }, (_, index) => ({
      inputs: { question: `${questions[index % questions.length]} (${index})` },
      outputs: { answer: answers[index % answers.length] },
      split: index % 3 === 0 ? "test" : "train",
    })),
  });
  const experimentIds: string[] = [];
  for (const name of ["prompt-v3", "prompt-v4"]) {
    const { id } = await client.projects.create({ name, referenceDatasetId: dataset.id });
    const scores: { readonly runId: string; readonly score: number }[] = [];
    for (const [index, referenceExampleId] of exampleIds.entries()) {
      const isWorse = (name === "prompt-v4") === index < 10;
      const run = client.startRun({
        name: "answer",
        projectName: name,
        referenceExampleId,
        inputs: { question: questions[index % questions.length] },
      });
      run.end({ answer: isWorse ? "I don't know." : answers[index % answers.length] });
      scores.push({ runId: run.id, score: isWorse ? 0.2 : 0.9 });
    }
    await client.flush();
    for (const { runId, score } of scores) {
      await client.feedback.create({ runId, key: "correctness", score });
    }
    experimentIds.push(id);
  }
  return { datasetId: dataset.id, experimentIds };
}

async function createQueue(client: Client, runIds: readonly string[]): Promise<string> {
  const queue = await client.annotationQueues.create({
    name: "Weekly review",
    rubricItems: [{ feedbackKey: "correct", description: "Is the answer correct?" }],
  });
  await client.annotationQueues.addRuns(queue.id, { runIds: [...runIds] });
  return queue.id;
}

/** A prompt with four commits, of which the last one is the one to roll back. */
async function createPrompt(client: Client): Promise<object> {
  const rules = [
    "Answer the customer.",
    "Answer the customer in two sentences.",
    "Answer the customer in two sentences. Never promise a date.",
    "Answer in the style of a pirate.",
  ];
  for (const rule of rules) {
    await client.prompts.push(supportPrompt, {
      manifest: {
        lc: 1,
        type: "constructor",
        id: ["langchain", "prompts", "chat", "ChatPromptTemplate"],
        kwargs: {
          input_variables: ["question"],
          messages: [
            {
              lc: 1,
              type: "constructor",
              id: ["langchain", "prompts", "chat", "SystemMessagePromptTemplate"],
              kwargs: {
                prompt: {
                  lc: 1,
                  type: "constructor",
                  id: ["langchain", "prompts", "prompt", "PromptTemplate"],
                  kwargs: { template: rule, input_variables: [], template_format: "f-string" },
                },
              },
            },
            {
              lc: 1,
              type: "constructor",
              id: ["langchain", "prompts", "chat", "HumanMessagePromptTemplate"],
              kwargs: {
                prompt: {
                  lc: 1,
                  type: "constructor",
                  id: ["langchain", "prompts", "prompt", "PromptTemplate"],
                  kwargs: {
                    template: "{question}",
                    input_variables: ["question"],
                    template_format: "f-string",
                  },
                },
              },
            },
          ],
        },
      },
    });
  }
  return {};
}
