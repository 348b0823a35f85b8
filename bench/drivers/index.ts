import type { CreateDriver } from "./driver.ts";

/** The drivers by name. Each is imported only when it is measured, so that no client pays for another's code. */
const loaders = {
  none: async () => (await import("./none.ts")).createNone,
  naive: async () => (await import("./naive.ts")).createNaive,
  "otlp-protobuf": async () => (await import("./opentelemetry.ts")).createOpenTelemetryProtobuf,
  "otlp-json": async () => (await import("./opentelemetry.ts")).createOpenTelemetryJson,
  langsmith: async () => (await import("./langsmith.ts")).createLangsmith,
  "langsmith-tuned": async () => (await import("./langsmith.ts")).createLangsmithTuned,
  langfuse: async () => (await import("./langfuse.mjs")).createLangfuse,
  braintrust: async () => (await import("./braintrust.mjs")).createBraintrust,
  millrace: async () => (await import("./millrace.ts")).createMillrace,
} as const satisfies Record<string, () => Promise<CreateDriver>>;

type DriverName = keyof typeof loaders;

const isDriverName = (name: string): name is DriverName => Object.hasOwn(loaders, name);

/** Imports a driver. @throws RangeError there is no driver of this name. */
export function loadDriver(name: string): Promise<CreateDriver> {
  if (!isDriverName(name)) {
    throw new RangeError(
      `Unknown driver ${name}; the drivers are ${Object.keys(loaders).join(", ")}`,
    );
  }
  return loaders[name]();
}
