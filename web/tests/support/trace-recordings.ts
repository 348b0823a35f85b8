import type { Client, RunTree } from "millrace";

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC";

/** Records an assistant that retrieves documents, calls a tool and answers. Together its runs use every field of a run. */
export async function recordAssistant(client: Client): Promise<string> {
  const startMs = Date.now() - 4_200;
  const question = "What is the weather in **Rome**, and what should I pack?";
  const root = client.startRun({
    name: "travel-assistant",
    inputs: { messages: [{ role: "user", content: question }] },
    tags: ["production"],
    metadata: { customer: "acme", region: "eu-1" },
    startTime: startMs,
  });
  const retriever = root.startChild({
    name: "search-guides",
    runType: "retriever",
    inputs: { query: question },
    startTime: startMs + 20,
  });
  retriever
    .startChild({
      name: "embed-query",
      runType: "embedding",
      inputs: { text: question },
      startTime: startMs + 30,
    })
    .end({ dimensions: 1_536 }, { endTime: startMs + 160 });
  retriever.end(
    { documents: [{ title: "Rome in spring", score: 0.91 }] },
    { endTime: startMs + 420 },
  );
  const tools = [
    {
      id: "call_1",
      type: "function",
      function: { name: "weather", arguments: '{"city":"Rome","days":3}' },
    },
  ];
  const request = {
    model: "small-1",
    messages: [
      { role: "system", content: "You are a helpful travel assistant. Use the tools." },
      {
        role: "user",
        content: [
          { type: "text", text: question },
          { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
    ],
  };
  const first = root.startChild({
    name: "plan",
    runType: "llm",
    inputs: request,
    metadata: { ls_provider: "openai" },
    startTime: startMs + 430,
  });
  first.end(
    {
      choices: [{ index: 0, message: { role: "assistant", content: null, tool_calls: tools } }],
      usage_metadata: { input_tokens: 61, output_tokens: 18, total_tokens: 79 },
    },
    { endTime: startMs + 1_450 },
  );
  const tool = root.startChild({
    name: "weather",
    runType: "tool",
    inputs: { city: "Rome", days: 3 },
    startTime: startMs + 1_460,
  });
  const failing = tool.startChild({
    name: "http-get",
    runType: "tool",
    inputs: { url: "https://weather.test/rome" },
    startTime: startMs + 1_470,
  });
  failing.fail(
    new Error("the forecast could not be read", {
      cause: new TypeError("connect ECONNREFUSED 10.0.0.1:443"),
    }),
    undefined,
    { endTime: startMs + 1_700 },
  );
  tool
    .startChild({
      name: "http-get",
      runType: "tool",
      inputs: { url: "https://weather2.test/rome" },
      startTime: startMs + 1_710,
    })
    .end({ status: 200, body: { sky: "sunny", high: 24 } }, { endTime: startMs + 2_300 });
  tool.end({ sky: "sunny", high: 24 }, { endTime: startMs + 2_310 });
  const answer = root.startChild({
    name: "answer",
    runType: "llm",
    inputs: {
      model: "small-1",
      messages: [
        ...request.messages,
        { role: "assistant", content: null, tool_calls: tools },
        { role: "tool", tool_call_id: "call_1", content: '{"sky":"sunny","high":24}' },
      ],
    },
    startTime: startMs + 2_320,
    attachments: {
      forecast: ["image/png", Buffer.from(png, "base64")],
      notes: ["text/plain", Buffer.from("sunny\n")],
    },
  });
  for (const token of ["Rome", " is", " sunny"]) {
    answer.addEvent({ name: "new_token", kwargs: { token } });
  }
  const content =
    "Rome is **sunny**, 24 °C.\n\n- light shirts\n- sun glasses\n\n| Day | High |\n| --- | --- |\n| Mon | 24 |";
  answer.end(
    {
      choices: [{ index: 0, message: { role: "assistant", content } }],
      usage_metadata: { input_tokens: 132, output_tokens: 40, total_tokens: 172 },
    },
    { endTime: startMs + 4_020 },
  );
  root
    .startChild({
      name: "parse",
      runType: "parser",
      inputs: { content },
      startTime: startMs + 4_030,
    })
    .end({ items: ["light shirts", "sun glasses"] }, { endTime: startMs + 4_040 });
  root.end({ output: content }, { endTime: startMs + 4_060 });
  await client.flush();
  return root.id;
}

const largeStart = Date.parse("2026-03-01T12:00:00Z");

/** Records one trace of `count` runs: a root, its steps, and calls within each step. One of 997 calls fails. */
export async function recordForest(client: Client, count: number): Promise<string> {
  const root = client.startRun({ name: "forest", startTime: largeStart });
  let step: RunTree | undefined;
  for (let index = 1; index < count; index += 1) {
    const at = largeStart + index * 4;
    if (step === undefined || index % 50 === 1) {
      step?.end({ index }, { endTime: at });
      step = root.startChild({ name: `step ${index}`, startTime: at });
      continue;
    }
    const types = ["llm", "tool", "retriever", "parser"] as const;
    const call = step.startChild({
      name: `call ${index}`,
      runType: types[index % 4] ?? "llm",
      inputs: { index },
      startTime: at,
    });
    if (index % 997 === 0) {
      call.fail(new Error(`call ${index} failed`), undefined, { endTime: at + 3 });
    } else {
      call.end({ word: index === 43_210 ? "needle-in-the-payload" : "hay" }, { endTime: at + 3 });
    }
    if (index % 5_000 === 0) {
      // Flush regularly, so that the queue stays within its limits.
      await client.flush();
    }
  }
  step?.end({ last: true }, { endTime: largeStart + count * 4 });
  root.end({ done: true }, { endTime: largeStart + count * 4 + 250 });
  await client.flush();
  return root.id;
}
