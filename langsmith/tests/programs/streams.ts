// Traces functions that return values, promises, generators and streams, the ways in which they can end, and what a program
// can change about a run while it is current.
import { setTimeout } from "node:timers/promises";
import { getDefaultProjectName, RunTree } from "langsmith";
import {
  getCurrentRunTree,
  isTraceableFunction,
  ROOT,
  traceable,
  withRunTree,
} from "langsmith/traceable";
import type { TraceableFunction } from "langsmith/traceable";
import { wrapSDK } from "langsmith/wrappers";

const words = ["It ", "will ", "rain."];

/** A model that streams its answer, token by token. */
const streamAnswer = traceable(
  async function* streamAnswer(question: string) {
    for (const word of words) {
      await setTimeout(1);
      yield question === "" ? "" : word;
    }
  },
  { run_type: "llm", aggregator: (chunks: string[]) => chunks.join(""), tags: ["stream"] },
);

/** The same without an aggregator, as a chain. */
const listWords = traceable(
  async function* listWords() {
    yield* words;
  },
  { name: "list words" },
);

/** A stream of the web. */
const readableAnswer = traceable(
  async (_question: string) =>
    new ReadableStream<string>({
      start(controller) {
        for (const word of words) {
          controller.enqueue(word);
        }
        controller.close();
      },
    }),
  { name: "readable answer", metadata: { kind: "web" } },
);

/** A stream that breaks after two chunks. */
const brokenStream = traceable(
  async function* brokenStream() {
    yield 1;
    yield 2;
    throw new TypeError("the line broke");
  },
  { name: "broken stream" },
);

const countSync = traceable(
  function* countSync(limit: number) {
    for (let index = 0; index < limit; index += 1) {
      yield index;
    }
  },
  { name: "count", run_type: "tool" },
);

const lookUp = traceable(
  async (city: string) => {
    const run = getCurrentRunTree();
    run.tags = [...(run.tags ?? []), "late"];
    run.extra = {
      ...run.extra,
      metadata: { ...(run.extra["metadata"] as object), region: city.slice(0, 2) },
    };
    run.addEvent({ name: "looked up", kwargs: { city } });
    if (city === "Atlantis") {
      throw new RangeError("no such city");
    }
    return { city, temperature: city.length };
  },
  { name: "look up", run_type: "tool", tags: ["weather"], metadata: { source: "table" } },
);

const describeDay = traceable(
  async (input: { cities: string[]; secret: string }) => {
    const found = await Promise.all(
      input.cities.map(async (city) => {
        try {
          return await lookUp(city);
        } catch (error) {
          return { city, error: String(error) };
        }
      }),
    );
    let text = "";
    for await (const word of streamAnswer("Will it rain?")) {
      text += word;
    }
    return { found, text, secret: input.secret };
  },
  {
    name: "describe day",
    processInputs: ({ secret: _, ...inputs }) => inputs,
    processOutputs: async ({ secret: _, ...outputs }) => outputs,
    metadata: { thread_id: "chat-1" },
  },
);

/** Arguments of several kinds, and attachments among them. */
const several = traceable(
  (left: number, right: { deep: number[] }, file: Uint8Array) =>
    left + right.deep.length + file.length,
  {
    name: "several arguments",
    extractAttachments: (left, right, file) => [
      { file: ["application/octet-stream", file] },
      { left, right },
    ],
  },
);

const withConfig = traceable(
  async (text: string, options: { shout: boolean }) => (options.shout ? text.toUpperCase() : text),
  { name: "with config", argsConfigPath: [1, "langsmithExtra"] },
);

/** A run as the first argument. */
const withRun = traceable(async (run: RunTree, text: string) => `${run.name}: ${text}`, {
  name: "with run",
});

const invocation = traceable(async (input: { model: string; temperature: number }) => input.model, {
  name: "invocation",
  run_type: "llm",
  getInvocationParams: ({ model, temperature }) => ({
    ls_provider: "none",
    ls_model_name: model,
    ls_model_type: "chat",
    ls_temperature: temperature,
  }),
});

/** A client of some service. */
class Weather {
  readonly forecast = { today: async (city: string) => `${city}: rain` };

  async ping(): Promise<string> {
    return "pong";
  }
}

async function readStreams(): Promise<void> {
  const chunks: string[] = [];
  for await (const chunk of listWords()) {
    chunks.push(chunk);
  }
  console.log("chunks", chunks);
  const reader = (await readableAnswer("Will it rain?")).getReader();
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += next.value;
  }
  console.log("readable", text);
  for await (const word of streamAnswer("left early")) {
    console.log("first", word);
    break;
  }
  try {
    for await (const value of brokenStream()) {
      console.log("value", value);
    }
  } catch (error) {
    console.log("broken", String(error));
  }
  const counted: number[] = [];
  for (const value of await countSync(3)) {
    counted.push(value);
  }
  console.log("counted", counted);
}

async function nest(): Promise<void> {
  const ended: string[] = [];
  const outer = traceable(
    async (topic: string) => {
      const own = await invocation({ model: "rule-1", temperature: 0.5 });
      await traceable(async () => "apart", { name: "apart" })(ROOT);
      return `${topic} ${own}`;
    },
    {
      name: "outer",
      on_end: (run) => ended.push(run.name),
      on_start: (run) => ended.push(`${run?.name} starts`),
    },
  );
  console.log("nested", await outer("weather"), ended);
  const root = new RunTree({ name: "by hand", inputs: { manual: true }, tracingEnabled: true });
  await root.postRun();
  await withRunTree(root, async () => {
    console.log("current", getCurrentRunTree().name);
    await lookUp("Oslo");
  });
  console.log("with run", await withRun(root, "text"));
  await root.end({ done: true });
  await root.patchRun();
}

const day = await describeDay({ cities: ["Paris", "Atlantis"], secret: "hush" });
console.log("day", JSON.stringify(day.found), day.text);
await readStreams();
console.log("several", await several(1, { deep: [1, 2] }, new Uint8Array([1, 2, 3])));
console.log(
  "config",
  await withConfig("quiet", {
    shout: true,
    langsmithExtra: { name: "renamed", tags: ["call"] },
  } as never),
);
await nest();
const weather = wrapSDK(new Weather(), { tags: ["sdk"] });
console.log("sdk", await weather.ping(), await weather.forecast.today("Rome"));
const marked: TraceableFunction<(city: string) => Promise<object>> = lookUp;
console.log("marked", isTraceableFunction(marked), isTraceableFunction(console.log));
console.log("outside", getCurrentRunTree(true), getDefaultProjectName());
await setTimeout(50);
await RunTree.getSharedClient().awaitPendingTraceBatches();
