import { TelemetryRuns } from "./telemetry.ts";
import type { MillraceTelemetry, TelemetryOptions } from "./telemetry.ts";
import { SpanRuns } from "./tracer.ts";
import type { AiTracer, TracerOptions } from "./tracer.ts";

export type { MillraceTelemetry, TelemetryOptions } from "./telemetry.ts";
export type { AiSpan, AiTracer, TracerOptions } from "./tracer.ts";

/**
 * Records the calls of AI SDK 7, passed once to `registerTelemetry`, or to a call as `telemetry.integrations`: a run for each
 * operation such as `generateText`, below the current run, and below it the steps, the calls of models and of tools. In a
 * tool, its run is the current run.
 *
 * A run ends with its event. An aborted operation fails. One whose stream the program stops reading, of which the AI SDK does
 * not report, ends at the next flush or after some seconds, with what was seen of it; if the program reads on, it is
 * corrected. The option `client` is the client that records. Never throws.
 */
export const millraceTelemetry = (options: TelemetryOptions = {}): MillraceTelemetry =>
  new TelemetryRuns(options);

/**
 * Records the calls of AI SDK 5 and 6: `experimental_telemetry: { isEnabled: true, tracer: millraceTracer() }`. The runs are
 * those that {@link millraceTelemetry} records of version 7. Never throws.
 */
export const millraceTracer = (options: TracerOptions = {}): AiTracer => new SpanRuns(options);
