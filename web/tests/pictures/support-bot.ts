import type { Client } from "millrace";

const hourMs = 3_600_000;
const days = 14;

/** A question that people ask the support of an outdoor shop, with its answer. */
interface Question {
  readonly text: string;
  readonly answer: string;
  /** The call of a tool, with its result, that the answer needs. */
  readonly tool: readonly [
    name: string,
    call: Readonly<Record<string, unknown>>,
    result: Readonly<Record<string, unknown>>,
  ];
}

const questions: readonly Question[] = [
  {
    text: "Which sleeping bag is warm enough for -10 °C?",
    answer: "The Fjell 900 is comfortable down to -12 °C and weighs 1.2 kg.",
    tool: [
      "search_products",
      { category: "sleeping bags", comfort_max: -10 },
      { found: ["Fjell 900", "Tundra 1200"], in_stock: true },
    ],
  },
  {
    text: "Where is my order 4711?",
    answer: "Order 4711 was shipped with DHL and arrives on Thursday.",
    tool: [
      "look_up_order",
      { order_id: 4711 },
      { status: "shipped", carrier: "DHL", expected: "Thursday" },
    ],
  },
  {
    text: "Can I return the boots if I have worn them inside?",
    answer: "Yes. You can return them within 30 days if the soles are clean.",
    tool: ["look_up_policy", { topic: "returns" }, { days: 30, condition: "unworn outside" }],
  },
  {
    text: "The stove leaks gas at the valve. What do I do?",
    answer: "Close the valve, take the stove outside and send us the serial number.",
    tool: ["look_up_recall", { product: "stove" }, { recalled: false, warranty_months: 24 }],
  },
];

const systemText = "You answer customers of an outdoor shop. Be short and exact.";

const models = [
  { model: "claude-sonnet-4-5", provider: "anthropic", name: "ChatAnthropic", latencyMs: 1_900 },
  { model: "gpt-5", provider: "openai", name: "ChatOpenAI", latencyMs: 2_300 },
  { model: "gpt-5-mini", provider: "openai", name: "ChatOpenAI", latencyMs: 1_500 },
] as const;

/**
 * Records two weeks of traces of a support bot: more by day than by night, three models, a few errors, and feedback on
 * every fifth trace. Returns the id of the newest trace.
 */
export async function recordSupportBot(client: Client): Promise<string> {
  const random = createRandom(7);
  const now = Date.now();
  let newest = "";
  for (let hour = days * 24 - 1; hour >= 0; hour -= 1) {
    const hourOfDay = new Date(now - hour * hourMs).getUTCHours();
    const growth = 1 + (days * 24 - hour) / 800;
    const daily = 5 + 4 * Math.sin(((hourOfDay - 7) / 24) * 2 * Math.PI);
    const count = Math.round((daily + random() * 2) * growth);
    const offsets = Array.from({ length: count }, () => random() * hourMs).toSorted(
      (left, right) => right - left,
    );
    const traceIds = offsets.map((offset) =>
      recordTrace(client, now - hour * hourMs - offset - 60_000, random),
    );
    newest = traceIds.at(-1) ?? newest;
    // The queue has a bounded size, so it is emptied before it is full.
    await client.flush();
    await Promise.all(
      traceIds
        .filter(() => random() < 0.2)
        .map((runId) =>
          client.feedback.create({ runId, key: "helpful", score: random() < 0.85 ? 1 : 0 }),
        ),
    );
  }
  return newest;
}

function recordTrace(client: Client, startMs: number, random: () => number): string {
  const { text, answer, tool } = pick(questions, random);
  const { model, provider, name, latencyMs } = pick(models, random);
  const user = pick(["ann", "ben", "eve", "kim"], random);
  const modelMs = latencyMs * (0.5 + random() ** 2 * 1.8);
  const root = client.startRun({
    name: "answer-question",
    inputs: { question: text },
    tags: [pick(["web", "mail"], random)],
    userId: user,
    threadId: `chat-${user}-${Math.floor(startMs / (2 * hourMs)) % 1_000}`,
    startTime: startMs,
  });
  root
    .startChild({
      name: "find-articles",
      runType: "retriever",
      inputs: { query: text },
      startTime: startMs + 5,
    })
    .end(
      { documents: [{ page_content: answer }] },
      { endTime: startMs + 5 + 120 + random() * 120 },
    );
  const [toolName, call, result] = tool;
  const toolStartMs = startMs + 260;
  root
    .startChild({ name: toolName, runType: "tool", inputs: call, startTime: toolStartMs })
    .end(result, { endTime: toolStartMs + 40 + random() * 60 });
  const messages = [
    { role: "system", content: systemText },
    { role: "user", content: text },
    {
      role: "assistant",
      content: "",
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: toolName, arguments: JSON.stringify(call) },
        },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: JSON.stringify(result) },
  ];
  const modelStartMs = startMs + 370;
  const modelRun = root.startChild({
    name,
    runType: "llm",
    inputs: { messages },
    metadata: { ls_model_name: model, ls_provider: provider },
    startTime: modelStartMs,
  });
  const endMs = modelStartMs + modelMs;
  if (random() < 0.035) {
    const error = new Error("the model did not answer within 30 s");
    modelRun.fail(error, undefined, { endTime: endMs });
    root.fail(error, undefined, { endTime: endMs + 12 });
  } else {
    const firstTokenMs = modelStartMs + 200 + random() * 350;
    modelRun.addEvent({
      name: "new_token",
      time: new Date(firstTokenMs).toISOString(),
      kwargs: { token: answer.split(" ")[0] },
    });
    const [inputTokens, outputTokens] = [
      700 + Math.round(random() * 700),
      60 + Math.round(random() * 160),
    ];
    modelRun.end(
      {
        message: { role: "assistant", content: answer },
        usage_metadata: {
          input_tokens: inputTokens,
          output_tokens: outputTokens,
          total_tokens: inputTokens + outputTokens,
        },
      },
      { endTime: endMs },
    );
    root.end({ answer }, { endTime: endMs + 12 });
  }
  return root.id;
}

const pick = <Item>(items: readonly Item[], random: () => number): Item =>
  items[Math.floor(random() * items.length)] ?? items[0]!;

/** Creates a generator of the same numbers from 0 to 1 for the same seed, so that new pictures look like the old ones. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
