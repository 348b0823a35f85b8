import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { parentPort, workerData } from "node:worker_threads";
import type { LoadMessage, LoadOptions } from "./load.ts";
import { planQuestion } from "./questions.ts";
import type { Question } from "./questions.ts";

const { url, topics, concurrency, requestLimit, cycle } = workerData as LoadOptions;
const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
const responseMs: number[] = [];
let started = 0;
let failed = 0;
let failedOnPurpose = 0;
let isStopped = false;

const send = (message: LoadMessage): void => parentPort?.postMessage(message);

const post = async (question: Question): Promise<string> => {
  const response = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
    request(url, { method: "POST", agent }, resolve)
      .on("error", reject)
      .end(JSON.stringify(question));
  });
  return text(response);
};

/** One caller: it sends a question, waits for the response, and repeats. */
const runCaller = async (): Promise<void> => {
  while (!isStopped && started < requestLimit) {
    const question = planQuestion(topics, started % cycle);
    started += 1;
    const startedAt = performance.now();
    const lines = (await post(question)).trimEnd().split("\n");
    if (lines.at(-1)?.startsWith('{"error"')) {
      if (question.stalled) {
        failedOnPurpose += 1;
      } else {
        failed += 1;
      }
    }
    responseMs.push(performance.now() - startedAt);
    if (responseMs.length % 10 === 0) {
      send({ kind: "progress", requests: responseMs.length });
    }
  }
};

parentPort?.on("message", () => {
  isStopped = true;
});
await Promise.all(Array.from({ length: concurrency }, runCaller));
agent.destroy();
send({
  kind: "done",
  result: { failedOnPurpose, failed, responseMs: Float64Array.from(responseMs) },
});
parentPort?.close();
