import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { perform } from "./perform.ts";
import type { Performance } from "./perform.ts";

// Runs the examples in the README of the installed package `langsmith`, with that package and with ours.

const readme = readFileSync(
  new URL("../../node_modules/langsmith/README.md", import.meta.url),
  "utf8",
);
const blocks = [...readme.matchAll(/^```(?:ts|typescript)\n(.*?)^```$/gms)].map(
  ([, code = ""]) => code,
);

/** The examples that were put into programs. */
const usedBlocks = new Set<string>();

/** The example that contains a text. */
function find(text: string): string {
  const found = blocks.filter((block) => block.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1) {
    throw new RangeError(`${found.length} examples contain ${text}`);
  }
  usedBlocks.add(block);
  return block;
}

/** Answers as the APIs of the models do. */
const fakeApi = `
import { createServer } from "node:http";
const api = createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(request.url.includes("/messages")
      ? { id: "m", type: "message", role: "assistant", model: "claude-3-sonnet-20240229",
          content: [{ type: "text", text: "2" }], stop_reason: "end_turn", usage: { input_tokens: 8, output_tokens: 3 } }
      : { id: "c", object: "chat.completion", created: 1, model: "gpt-5.4",
          choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello!" } }],
          usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } }));
  });
});
await new Promise((resolve) => api.listen(0, "127.0.0.1", resolve));
api.unref();
const apiUrl = \`http://127.0.0.1:\${api.address().port}\`;
Object.assign(process.env, {
  OPENAI_API_KEY: "none", OPENAI_BASE_URL: apiUrl, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: apiUrl,
});
`;

/** The programs that the examples make, with the changes without which they run with neither package. */
const programs: Readonly<Record<string, () => string>> = {
  "a wrapped client of OpenAI": () =>
    fakeApi + find("const openai = wrapOpenAI(new OpenAI());\n\nawait"),
  "traced functions": () =>
    `${fakeApi}import { OpenAI } from "openai";\n${find("const createCompletion =")}${find("const nestedTrace =")}`,
  "a handler of Next.js": () =>
    `${fakeApi}const NextResponse = Response;\n${find("Simple Next.js handler").replace(/^import .*next\/server";$/m, "")}
     console.log(await (await POST(new Request("http://127.0.0.1"))).text());`,
  "a wrapped client of Anthropic": () => fakeApi + find("wrapSDK(originalSDK)"),
  // The example ends with the error that it throws on purpose.
  "runs by hand": () => find("const parentRunConfig").replace("  throw e;\n", ""),
  "a dataset of runs": () =>
    `import { Client as RecordingClient } from "langsmith";
     const recording = new RecordingClient();
     for (const question of ["a", "b"]) {
       await recording.createRun({ id: crypto.randomUUID(), name: question, run_type: "chain", project_name: "my_project",
         inputs: { question }, outputs: { answer: question }, end_time: Date.now() });
     }
     await recording.awaitPendingTraceBatches();
     ${find('const datasetName = "Example Dataset"').replace("for (const run", "for await (const run")}`,
};

/** Texts of the examples that are not run, with the reason. */
const left: Readonly<Record<string, string>> = {
  "langsmith/sandbox": "a hosted product",
  'process.env.LANGSMITH_TRACING = "true"': "only settings",
  "langchain/chat_models/openai": "a path that LangChain does not have any more",
  "@mistralai/mistralai": "written for a client that has another interface today",
};

test("each example is run, or there is a reason why it is not", () => {
  Object.values(programs).forEach((create) => create());
  const others = blocks.filter(
    (block) => !usedBlocks.has(block) && !Object.keys(left).some((text) => block.includes(text)),
  );
  expect(blocks.length).toBeGreaterThan(10);
  expect(others).toEqual([]);
});

test.each(Object.entries(programs))(
  "%s: prints and stores the same",
  async (name, create) => {
    const folder = new URL("../../temp/published-examples/", import.meta.url);
    mkdirSync(folder, { recursive: true });
    const file = new URL(`${name.replaceAll(" ", "-")}.mts`, folder);
    writeFileSync(file, create());
    onTestFinished(() => rmSync(file));
    const program = pathToFileURL(fileURLToPath(file));
    const [moved, original] = await Promise.all(
      ["@millrace/langsmith", "langsmith"].map((packageName) => perform(program, packageName)),
    );
    expect(original?.projects).not.toEqual([]);
    expect(withoutModelDetails(moved)).toEqual(withoutModelDetails(original));
    // A run that a program creates by a method of the client names no recorder.
    expect(moved?.recorders).not.toContain("langsmith-js");
  },
  120_000,
);

/** What docs/moving-over.md lists as different for calls of wrapped clients. */
const ownMembers = new Set([
  "events",
  "metadata",
  "usage",
  "input_token_details",
  "output_token_details",
]);

function withoutModelDetails(performance: Performance | undefined): unknown {
  const { recorders: _, ...story } = performance ?? {};
  return JSON.parse(
    JSON.stringify(story, (key, value: unknown) => (ownMembers.has(key) ? undefined : value)),
  );
}
