import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../support/running-server.ts";

const program = fileURLToPath(new URL("../support/serve-with-model.mjs", import.meta.url));
const exampleCount = 30;
const concurrency = 3;

interface Served {
  readonly url: string;
  readonly token: string;
}

/** Starts a server in a process of its own. */
async function serve(dataDir: string, modelUrl: string) {
  const child = spawn(process.execPath, [program, dataDir, modelUrl], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { ...(JSON.parse(line) as Served), kill };
}

/** A model that repeats the prompt. It holds the answers after the first `free` ones until `release` is called. */
async function startModel(free: number) {
  const prompts: string[] = [];
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) {
        chunks.push(chunk as Buffer);
      }
      const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const content = messages.at(-1)?.content ?? "";
      prompts.push(content);
      if (prompts.length > free) {
        await gate;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
          usage: { prompt_tokens: 1, completion_tokens: 1 },
        }),
      );
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, prompts, release };
}

interface StoredJob {
  readonly state: string;
  readonly progress: { readonly done: number };
  readonly result: { readonly experiment_id: string } | null;
}

test("an experiment goes on after its server was killed, and repeats only the calls in flight", async () => {
  const dataDir = await temporaryFolder();
  const model = await startModel(10);
  const first = await serve(dataDir, model.url);
  const post = async (url: string, path: string, body: object, token = ""): Promise<unknown> => {
    const headers = {
      "content-type": "application/json",
      origin: url,
      "sec-fetch-site": "same-origin",
      "x-model-token": token,
    };
    const response = await fetch(url + path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBeLessThan(300);
    return response.json();
  };
  const dataset = (await post(first.url, "/datasets", { name: "d" })) as { readonly id: string };
  await post(
    first.url,
    "/examples/bulk",
    Array.from({ length: exampleCount }, (_, index) => ({
      dataset_id: dataset.id,
      inputs: { question: `q${index}` },
    })),
  );
  await post(first.url, "/repos", { repo_handle: "qa", is_public: false });
  await post(first.url, "/commits/-/qa", {
    manifest: {
      lc: 1,
      type: "constructor",
      id: ["langchain", "prompts", "prompt", "PromptTemplate"],
      kwargs: { template: "{question}", template_format: "f-string" },
    },
  });
  const body = {
    dataset_id: dataset.id,
    repetitions: 1,
    concurrency,
    mapping: {},
    scorers: [],
    judges: [],
    targets: [{ name: "killed", prompt: "qa", endpoint: "local", model: "m" }],
  };
  await post(first.url, "/ui/experiments/start", body, first.token);
  // Ten rows are answered, and the calls after them wait for their answers.
  await expect.poll(() => model.prompts.length, { timeout: 20_000 }).toBeGreaterThan(10);
  await first.kill();
  const callsBefore = model.prompts.length;
  model.release();

  const second = await serve(dataDir, model.url);
  const readJob = async (): Promise<StoredJob | undefined> => {
    const response = await fetch(`${second.url}/ui/jobs`);
    const { jobs } = (await response.json()) as { readonly jobs: readonly StoredJob[] };
    return jobs[0];
  };
  await expect.poll(async () => (await readJob())?.state, { timeout: 40_000 }).toBe("succeeded");
  const job = await readJob();
  expect(job?.progress.done).toBe(exampleCount);
  expect(new Set(model.prompts).size).toBe(exampleCount);
  const repeated = model.prompts.length - exampleCount;
  expect(repeated).toBeLessThanOrEqual(concurrency);
  expect(callsBefore).toBeLessThanOrEqual(10 + concurrency);
  const response = await fetch(
    `${second.url}/sessions/${job?.result?.experiment_id}?include_stats=true`,
  );
  // Root runs.
  expect(await response.json()).toMatchObject({ run_count: exampleCount });
}, 90_000);
