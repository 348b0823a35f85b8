// A program that streams a model's answers with a client that is wrapped, or with one that is not, in a separate process.
// integrations.bench.ts starts it and receives the figures from it.
import { setTimeout as sleep } from "node:timers/promises";
import { OpenAI } from "openai";
import { querySink, readMainNanos, readPeakRssMb } from "./process-figures.ts";

/** The request from integrations.bench.ts. */
export interface IntegrationsRequest {
  readonly wrapper: WrapperName;
  /** Address of the model's API. */
  readonly baseURL: string;
  /** Address of the server that receives runs. */
  readonly endpoint: string;
  /** Size of an answer, in bytes of the stream. */
  readonly answerBytes: number;
  /** Least number of calls for the warm-up and for the measurement. Each also takes at least `minMs`. */
  readonly warmupCalls: number;
  readonly calls: number;
  readonly minMs: number;
}

export type WrapperName = "none" | "millrace" | "langsmith";

export interface IntegrationsFigures {
  /** CPU time of the main thread and of all threads for each call, microseconds, the program's own included. */
  readonly mainMicros: number;
  readonly allMicros: number;
  /** Time from the call to the first chunk, microseconds. */
  readonly firstTokenMicrosP50: number;
  readonly firstTokenMicrosP99: number;
  readonly calls: number;
  /** Runs that the server received whole, and those that it should have received. */
  readonly received: number;
  readonly expected: number;
  readonly peakRssMb: number;
}

process.once("message", (request: IntegrationsRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

async function respond(request: IntegrationsRequest): Promise<void> {
  process.send?.(await measure(request));
  process.exit();
}

/** A client, and how what it recorded is sent. */
interface Subject {
  readonly openai: OpenAI;
  readonly flush: () => Promise<unknown>;
}

/** Wraps a client. Packages are imported only where they are measured. */
const wrappers: Readonly<
  Record<WrapperName, (openai: OpenAI, endpoint: string) => Promise<Subject>>
> = {
  none: (openai) => Promise.resolve({ openai, flush: () => Promise.resolve() }),
  millrace: async (openai, endpoint) => {
    const { Client } = await import("millrace");
    const { wrapOpenAI } = await import("millrace/openai");
    const client = new Client({ endpoint, apiKey: "bench", projectName: "bench" });
    return { openai: wrapOpenAI(openai, { client }), flush: () => client.flush() };
  },
  langsmith: async (openai, endpoint) => {
    const { Client } = await import("langsmith");
    const { wrapOpenAI } = await import("langsmith/wrappers");
    const client = new Client({ apiUrl: endpoint, apiKey: "bench" });
    return {
      openai: wrapOpenAI(openai, { client, project_name: "bench", tracingEnabled: true }),
      flush: () => client.awaitPendingTraceBatches(),
    };
  },
};

async function measure(request: IntegrationsRequest): Promise<IntegrationsFigures> {
  const { wrapper, baseURL, endpoint } = request;
  const bare = new OpenAI({ apiKey: "bench", baseURL, maxRetries: 0 });
  const program = new Program(await wrappers[wrapper](bare, endpoint), request.answerBytes);
  await program.run(request.warmupCalls, request.minMs);
  const warmupCalls = program.firstTokenMicros.splice(0).length;
  await sleep(200);
  const cpuBefore = process.cpuUsage();
  const mainBefore = readMainNanos();
  await program.run(request.calls, request.minMs);
  const mainNanos = readMainNanos() - mainBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  const times = program.firstTokenMicros.toSorted((left, right) => left - right);
  const at = (share: number): number =>
    times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  const { runs } = await querySink(endpoint, []);
  return {
    mainMicros: mainNanos / 1_000 / times.length,
    allMicros: (user + system) / times.length,
    firstTokenMicrosP50: at(0.5),
    firstTokenMicrosP99: at(0.99),
    calls: times.length,
    received: runs,
    expected: wrapper === "none" ? 0 : warmupCalls + times.length,
    peakRssMb: readPeakRssMb(),
  };
}

/** Asks the model again and again, one question after the other. */
class Program {
  /** The time from each call to its first chunk. */
  readonly firstTokenMicros: number[] = [];
  readonly #subject: Subject;
  readonly #answerBytes: number;

  constructor(subject: Subject, answerBytes: number) {
    this.#subject = subject;
    this.#answerBytes = answerBytes;
  }

  /** Returns when what was recorded was sent, so that the cost of sending is part of the measurement. */
  async run(calls: number, minMs: number): Promise<void> {
    const until = performance.now() + minMs;
    for (let call = 0; call < calls || performance.now() < until; call++) {
      await this.#ask(`How many horses are there in stable ${call}?`);
    }
    await this.#subject.flush();
  }

  async #ask(question: string): Promise<void> {
    const startedAt = performance.now();
    const stream = await this.#subject.openai.chat.completions.create({
      model: String(this.#answerBytes),
      messages: [
        { role: "system", content: "You answer questions about horses." },
        { role: "user", content: question },
      ],
      temperature: 0.2,
      stream: true,
    });
    let chunks = 0;
    let textLength = 0;
    for await (const chunk of stream) {
      if (chunks === 0) {
        this.firstTokenMicros.push((performance.now() - startedAt) * 1_000);
      }
      chunks += 1;
      textLength += chunk.choices[0]?.delta.content?.length ?? 0;
    }
    if (textLength === 0) {
      throw new RangeError("The answer has no text");
    }
  }
}
