import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import type { Span } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { countAcknowledged } from "./acknowledged.ts";
import type { Driver, DriverInit } from "./driver.ts";
import { openTelemetryMaxUnacknowledgedRuns } from "./opentelemetry-limits.ts";

/** The batch span processor with its defaults and OTLP as protobuf. */
export const createOpenTelemetryProtobuf = (init: DriverInit): Driver<Span> =>
  createOpenTelemetry(new ProtobufExporter({ url: `${init.endpoint}/v1/traces` }));

/** The batch span processor with its defaults and OTLP as JSON. */
export const createOpenTelemetryJson = (init: DriverInit): Driver<Span> =>
  createOpenTelemetry(new JsonExporter({ url: `${init.endpoint}/v1/traces` }));

/** An attribute can't be an object, so inputs and outputs are JSON strings, as in the OpenInference conventions. */
function createOpenTelemetry(exporter: SpanExporter): Driver<Span> {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "bench" }),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("bench");
  const acknowledged = countAcknowledged();
  let started = 0;
  return {
    maxUnacknowledgedRuns: openTelemetryMaxUnacknowledgedRuns,
    start: (parent, { name, runType, inputs, metadata }) => {
      started += 1;
      const attributes = {
        "openinference.span.kind": runType,
        "input.value": JSON.stringify(inputs),
        metadata: JSON.stringify(metadata),
      };
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
      return tracer.startSpan(name, { attributes }, context);
    },
    end: (span, { outputs }) => {
      span.setAttribute("output.value", JSON.stringify(outputs));
      span.end();
    },
    id: (span) => span.spanContext().spanId,
    stats: () => ({ pending: started - acknowledged(), lost: 0 }),
    flush: () => provider.forceFlush(),
    close: () => provider.shutdown(),
  };
}
