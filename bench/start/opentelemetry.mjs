// Records one run and waits for its delivery, as the client's documentation says.
import { endpoint, inputs, markDelivered, measureImport, outputs } from "./measured.mjs";

const { BasicTracerProvider, BatchSpanProcessor, OTLPTraceExporter } = await measureImport(
  async () => ({
    ...(await import("@opentelemetry/sdk-trace-base")),
    ...(await import("@opentelemetry/exporter-trace-otlp-proto")),
  }),
);
const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
const span = provider.getTracer("bench").startSpan("answer", {
  attributes: { "openinference.span.kind": "llm", "input.value": JSON.stringify(inputs) },
});
span.setAttribute("output.value", JSON.stringify(outputs));
span.end();
await provider.forceFlush();
markDelivered();
