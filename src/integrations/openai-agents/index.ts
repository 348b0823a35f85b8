import { addRunSource, flush, onFlush } from "../../main/index.ts";
import type { Client, ClientChoice, KeyValues } from "../../main/index.ts";
import { SpanRuns } from "./span-runs.ts";
import type { AgentsSpan, AgentsTrace } from "./spans.ts";

export type { AgentsSpan, AgentsTrace } from "./spans.ts";

/** Options of {@link MillraceTracingProcessor}. */
export interface TracingProcessorOptions {
  /**
   * The client that records the runs, or a function that returns it.
   *
   * @defaultValue the current run's client, else the default client
   */
  readonly client?: ClientChoice | undefined;
  /** Tags that are added to the root run of each trace. */
  readonly tags?: readonly string[] | undefined;
  /** Metadata that is added to the root run of each trace. */
  readonly metadata?: KeyValues | undefined;
}

/** The key on `globalThis` of the `AsyncLocalStorage` in which the Agents SDK keeps its current trace and span. */
const contextKey = Symbol.for("openai.agents.core.asyncLocalStorage");

/**
 * A tracing processor for `@openai/agents` that records a run for each trace and span: agents, model calls, tools,
 * handoffs, guardrails, lists of MCP tools and custom spans. A trace becomes a child of the current run. While a span
 * is current, its run is the current run. A wrapped client of `millrace/openai` does not record its model call again.
 *
 * No method throws or rejects.
 */
export class MillraceTracingProcessor {
  readonly #client: ClientChoice | undefined;
  readonly #runs: SpanRuns;
  readonly #removers: (() => void)[] = [];

  constructor(options: TracingProcessorOptions = {}) {
    this.#client = options.client;
    this.#runs = new SpanRuns(options);
  }

  async onTraceStart(trace: AgentsTrace): Promise<void> {
    // Register these here and not in the constructor, because only a processor that the Agents SDK uses can determine
    // the current run.
    if (this.#removers.length === 0) {
      this.#removers.push(
        addRunSource(() => this.#runs.findCurrent(readContext())),
        onFlush(() => this.#runs.endAbandonedTraces()),
      );
    }
    this.#runs.startTrace(trace, readContext());
  }

  async onTraceEnd(trace: AgentsTrace): Promise<void> {
    this.#runs.endTrace(trace);
  }

  async onSpanStart(span: AgentsSpan): Promise<void> {
    this.#runs.startSpan(span);
  }

  async onSpanEnd(span: AgentsSpan): Promise<void> {
    this.#runs.endSpan(span);
  }

  /** Sends everything that was recorded, like `flush`. */
  async forceFlush(): Promise<void> {
    await (isClient(this.#client) ? this.#client.flush() : flush());
  }

  /**
   * Called when the process ends, or when other processors replace this one. Sends everything that was recorded. The
   * time limit is that of `flush`: the five seconds that the Agents SDK allows would delay the end of a process that
   * can't reach its server.
   */
  async shutdown(): Promise<void> {
    try {
      await this.forceFlush();
    } finally {
      for (const remove of this.#removers.splice(0)) {
        remove();
      }
    }
  }
}

const isClient = (client: unknown): client is Pick<Client, "flush"> =>
  typeof client === "object" && client !== null && "flush" in client;

/** Returns the current context of the Agents SDK, which contains the trace and, within a span, the span. */
function readContext(): unknown {
  const storage: unknown = Reflect.get(globalThis, contextKey);
  return isStorage(storage) ? storage.getStore() : undefined;
}

/** The type is checked, because a program may set its own storage. */
const isStorage = (value: unknown): value is { getStore(): unknown } =>
  typeof value === "object" &&
  value !== null &&
  "getStore" in value &&
  typeof value.getStore === "function";
