import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT } from "@opentelemetry/api";
import type { Context, ContextManager } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, onTestFinished } from "vitest";
import type { Client, Run, WireRun } from "../../src/main/index.ts";
import { toWireRun } from "./wire-run.ts";

/** A project of its own for a test, to which OpenTelemetry exports spans. */
export interface ExportedProject {
  readonly name: string;
  readonly provider: BasicTracerProvider;
  /**
   * Exports what was recorded, and returns the runs of the project, the oldest first. Waits until there are as many as
   * expected, because a library may end a span after the program has its result.
   */
  readonly readRuns: (count: number) => Promise<readonly WireRun[]>;
}

/** Configures OpenTelemetry as a program would. The test's end shuts the provider down. */
export function exportProject(
  server: { readonly url: string },
  client: Client,
  Exporter: typeof JsonExporter = JsonExporter,
): ExportedProject {
  const name = `exported ${crypto.randomUUID()}`;
  const exporter = new Exporter({
    url: `${server.url}/otel/v1/traces`,
    headers: { "Langsmith-Project": name },
  });
  const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  onTestFinished(() => provider.shutdown());
  return {
    name,
    provider,
    readRuns: async (count) => {
      const readAll = async () => {
        await provider.forceFlush();
        return client.runs.list({ projectNames: [name], order: "asc" }).toArray();
      };
      await expect.poll(async () => (await readAll()).filter(hasEnded).length).toBe(count);
      return (await readAll()).map(toWireRun);
    },
  };
}

/** A placeholder for a root that has not arrived has no end. */
const hasEnded = ({ endTime }: Run): boolean => endTime !== undefined;

/** Keeps the active span across `await`, as the one of OpenTelemetry's package for Node does. */
export class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Args extends unknown[], Result>(
    context: Context,
    work: (...args: Args) => Result,
    thisArgument?: unknown,
    ...args: Args
  ): Result {
    return this.#storage.run(context, () => work.apply(thisArgument, args));
  }

  bind<Target>(context: Context, target: Target): Target {
    if (typeof target !== "function") {
      return target;
    }
    const work = target as unknown as (...args: unknown[]) => unknown;
    return ((...args: unknown[]) => this.#storage.run(context, () => work(...args))) as Target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}

export function runNamed(runs: readonly WireRun[], name: string): WireRun {
  const found = runs.filter((run) => run.name === name);
  expect(found, `runs named ${name} among ${runs.map((run) => run.name).join(", ")}`).toHaveLength(
    1,
  );
  return found[0]!;
}

export const metadataOf = (run: WireRun): Readonly<Record<string, unknown>> =>
  (run.extra as { readonly metadata: Readonly<Record<string, unknown>> }).metadata;
