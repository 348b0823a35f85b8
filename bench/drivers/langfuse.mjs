import { LangfuseSpanProcessor } from "@langfuse/otel";
import { setLangfuseTracerProvider, startObservation } from "@langfuse/tracing";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { countAcknowledged } from "./acknowledged.ts";
import { openTelemetryMaxUnacknowledgedRuns } from "./opentelemetry-limits.ts";

/** The client with its defaults. */
export function createLangfuse({ endpoint }) {
  const processor = new LangfuseSpanProcessor({
    publicKey: "bench",
    secretKey: "bench",
    baseUrl: endpoint,
  });
  const provider = new BasicTracerProvider({ spanProcessors: [processor] });
  setLangfuseTracerProvider(provider);
  const acknowledged = countAcknowledged();
  let started = 0;
  return {
    maxUnacknowledgedRuns: openTelemetryMaxUnacknowledgedRuns,
    start: (parent, { name, runType, inputs, metadata }) => {
      started += 1;
      const attributes = { input: inputs, metadata };
      const options = { asType: runType === "llm" ? "generation" : "chain" };
      return parent === undefined
        ? startObservation(name, attributes, options)
        : parent.startObservation(name, attributes, options);
    },
    end: (observation, { outputs }) => {
      observation.update({ output: outputs });
      observation.end();
    },
    id: (observation) => observation.id,
    stats: () => ({ pending: started - acknowledged(), lost: 0 }),
    flush: () => processor.forceFlush(),
    close: () => provider.shutdown(),
  };
}
