// Streams a model's answers in a separate process, with a client that is wrapped or with one that is not.
// integrations.bench.ts starts this program and receives the figures from it.
import { setTimeout as sleep } from "node:timers/promises";
import { OpenAI } from "openai";
import { querySink, readMainNanos, readPeakRssMb } from "./process-figures.ts";

/** A request from integrations.bench.ts, which sends one after the other. */
export type IntegrationsRequest = StartRequest | CpuRequest | LatencyRequest | EndRequest;

interface StartRequest {
  readonly kind: "start";
  readonly wrapper: WrapperName;
  /** Address of the model's API. */
  readonly baseURL: string;
  /** Address of the server that receives runs. */
  readonly endpoint: string;
  /** Size of an answer, in bytes of the stream. */
  readonly answerBytes: number;
}

/** Calls the model at least `minCalls` times, one call after another, and for at least `minMs`. */
interface CpuRequest {
  readonly kind: "cpu";
  readonly minCalls: number;
  readonly minMs: number;
}

/** Calls the model at a fixed rate. */
interface LatencyRequest {
  readonly kind: "latency";
  readonly callsPerSecond: number;
  readonly durationMs: number;
}

interface EndRequest {
  readonly kind: "end";
}

export type WrapperName = "none" | "millrace" | "langsmith";

/** The cost of a block of calls. */
export interface CpuFigures {
  readonly calls: number;
  /** CPU time of the main thread and of all threads, microseconds, the program's own included. */
  readonly mainMicros: number;
  readonly allMicros: number;
}

export interface EndFigures {
  /** Numbers of runs that the server received whole, and that it should have received. */
  readonly received: number;
  readonly expected: number;
  readonly peakRssMb: number;
}

process.on("message", (request: IntegrationsRequest) => {
  // A rejection ends the process, which the parent process detects.
  void respond(request);
});

let program: Program | undefined;

async function respond(request: IntegrationsRequest): Promise<void> {
  if (request.kind === "start") {
    program = await Program.start(request);
    process.send?.("started");
  } else if (program === undefined) {
    throw new RangeError("The program was not started");
  } else if (request.kind === "cpu") {
    process.send?.(await program.measureCpu(request));
  } else if (request.kind === "latency") {
    process.send?.(await program.measureLatency(request));
  } else {
    process.send?.(await program.end());
  }
}

/** A client, and a function that sends the runs that it recorded. */
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

/** Calls the model repeatedly, and measures the calls. */
class Program {
  readonly #request: StartRequest;
  readonly #subject: Subject;
  #calls = 0;

  static async start(request: StartRequest): Promise<Program> {
    const bare = new OpenAI({ apiKey: "bench", baseURL: request.baseURL, maxRetries: 0 });
    return new Program(request, await wrappers[request.wrapper](bare, request.endpoint));
  }

  constructor(request: StartRequest, subject: Subject) {
    this.#request = request;
    this.#subject = subject;
  }

  /** The cost of sending is part of the measurement. */
  async measureCpu({ minCalls, minMs }: CpuRequest): Promise<CpuFigures> {
    const cpuBefore = process.cpuUsage();
    const mainBefore = readMainNanos();
    const until = performance.now() + minMs;
    let calls = 0;
    for (; calls < minCalls || performance.now() < until; calls++) {
      await this.#ask();
    }
    await this.#subject.flush();
    const mainMicros = (readMainNanos() - mainBefore) / 1_000;
    const { user, system } = process.cpuUsage(cpuBefore);
    return { calls, mainMicros, allMicros: user + system };
  }

  /**
   * Returns the time from each call to its first chunk, microseconds. The calls do not wait for each other: one after the
   * other, they would measure how the processes share the cores.
   */
  async measureLatency({ callsPerSecond, durationMs }: LatencyRequest): Promise<readonly number[]> {
    const startedAt = performance.now();
    const count = Math.round((callsPerSecond * durationMs) / 1_000);
    const answers: Promise<number>[] = [];
    for (let call = 0; call < count; call++) {
      await sleep(Math.max(0, startedAt + (call * 1_000) / callsPerSecond - performance.now()));
      answers.push(this.#ask());
    }
    const times = await Promise.all(answers);
    await this.#subject.flush();
    return times;
  }

  async end(): Promise<EndFigures> {
    const { wrapper, endpoint } = this.#request;
    const { runs: received } = await querySink(endpoint, []);
    const expected = wrapper === "none" ? 0 : this.#calls;
    return { received, expected, peakRssMb: readPeakRssMb() };
  }

  /** Returns the time to the first chunk, microseconds. */
  async #ask(): Promise<number> {
    this.#calls += 1;
    const startedAt = performance.now();
    const stream = await this.#subject.openai.chat.completions.create({
      model: String(this.#request.answerBytes),
      messages: [
        { role: "system", content: "You answer questions about horses." },
        { role: "user", content: `How many horses are there in stable ${this.#calls}?` },
      ],
      temperature: 0.2,
      stream: true,
    });
    let firstTokenMicros: number | undefined;
    let textLength = 0;
    for await (const chunk of stream) {
      firstTokenMicros ??= (performance.now() - startedAt) * 1_000;
      textLength += chunk.choices[0]?.delta.content?.length ?? 0;
    }
    if (firstTokenMicros === undefined || textLength === 0) {
      throw new RangeError("The answer has no text");
    }
    return firstTokenMicros;
  }
}
