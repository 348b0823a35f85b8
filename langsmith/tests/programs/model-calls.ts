// Calls models through their clients, traced function by function, and makes a dataset of the runs.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Anthropic from "@anthropic-ai/sdk";
import { Client, RunTree } from "langsmith";
import { traceable } from "langsmith/traceable";
import { wrapSDK } from "langsmith/wrappers";
import { OpenAI } from "openai";

/** An API that answers as OpenAI's and Anthropic's do. */
const api = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    const isAnthropic = request.url?.includes("/messages") === true;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(isAnthropic ? message : completion));
  });
});

const completion = {
  id: "completion-1",
  object: "chat.completion",
  created: 1,
  model: "rule-1",
  choices: [
    { index: 0, finish_reason: "stop", message: { role: "assistant", content: "It rains." } },
  ],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};
const message = {
  id: "message-1",
  type: "message",
  role: "assistant",
  model: "rule-2",
  content: [{ type: "text", text: "It snows." }],
  stop_reason: "end_turn",
  usage: { input_tokens: 8, output_tokens: 3 },
};

await new Promise<void>((resolve) => {
  api.listen(0, "127.0.0.1", resolve);
});
const baseURL = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
const openai = new OpenAI({ baseURL, apiKey: "none" });
const anthropic = wrapSDK(new Anthropic({ baseURL, apiKey: "none" }), {
  runName: "anthropic",
  tags: ["wrapped"],
});

/** A method of a client, as a traced function. It keeps the members of the promise that the client returns. */
const complete = traceable(openai.chat.completions.create.bind(openai.chat.completions), {
  name: "complete",
  run_type: "llm",
  metadata: { ls_provider: "none", ls_model_type: "chat" },
});

interface Forecast {
  readonly city: string;
  readonly texts: readonly (string | null | undefined)[];
}

const forecast = traceable(
  async (input: { city: string }): Promise<Forecast> => {
    const question = `Will it rain in ${input.city}?`;
    const first = await complete({
      model: "rule-1",
      messages: [{ role: "user", content: question }],
    });
    const second = await anthropic.messages.create({
      model: "rule-2",
      max_tokens: 9,
      messages: [{ role: "user", content: question }],
    });
    const [block] = second.content;
    const texts = [
      "choices" in first ? first.choices[0]?.message.content : "streamed",
      block?.type === "text" ? block.text : undefined,
    ];
    return { city: input.city, texts };
  },
  { name: "forecast", project_name: "forecasts" },
);

const failing = traceable(
  async (input: { city: string }): Promise<Forecast> => {
    throw new Error(`There is no ${input.city}.`);
  },
  { name: "forecast", project_name: "forecasts" },
);

for (const city of ["Bern", "Oslo"]) {
  console.log(JSON.stringify(await forecast({ city })));
}
console.log(await failing({ city: "Atlantis" }).catch((error: unknown) => String(error)));
await RunTree.getSharedClient().awaitPendingTraceBatches();

/** The successful root runs become examples. */
const client = new Client();
const dataset = await client.createDataset("forecasts", { description: "Of runs" });
const sources: string[] = [];
for await (const run of client.listRuns({
  projectName: "forecasts",
  isRoot: true,
  error: false,
})) {
  sources.push(`${run.name} ${run.inputs["city"]}`);
  await client.createExample(run.inputs, run.outputs ?? {}, { datasetId: dataset.id });
}
console.log(sources.toSorted());
const examples: string[] = [];
for await (const { inputs, outputs } of client.listExamples({ datasetId: dataset.id })) {
  examples.push(JSON.stringify([inputs, outputs]));
}
console.log(examples.toSorted());
await client.awaitPendingTraceBatches();
api.closeAllConnections();
api.close();
