import { TelemetryRuns } from "./telemetry.ts";
import type { MillraceTelemetry, TelemetryOptions } from "./telemetry.ts";
import { SpanRuns } from "./tracer.ts";
import type { AiTracer, TracerOptions } from "./tracer.ts";

export type { MillraceTelemetry, TelemetryOptions } from "./telemetry.ts";
export type { AiSpan, AiTracer, TracerOptions } from "./tracer.ts";

/**
 * Records the calls of AI SDK 7. Pass the result once to `registerTelemetry`, or to a call as `telemetry.integrations`.
 * Each operation, such as `generateText`, is recorded as a child of the current run; its steps, model calls and tool
 * calls are recorded below it. Inside a tool, the tool's run is the current run.
 *
 * A run ends when the AI SDK reports its end. An aborted operation fails. If a program stops reading a stream, the AI
 * SDK does not report that. Such an operation ends at the next flush or after some seconds, with the output so far, and
 * is corrected if the program continues to read. The option `client` is the client that records the runs. Never throws.
 */
export const millraceTelemetry = (options: TelemetryOptions = {}): MillraceTelemetry =>
  new TelemetryRuns(options);

/**
 * Records the calls of AI SDK 5 and 6: `experimental_telemetry: { isEnabled: true, tracer: millraceTracer() }`. The
 * runs are the same as those that {@link millraceTelemetry} records for version 7. Never throws.
 */
export const millraceTracer = (options: TracerOptions = {}): AiTracer => new SpanRuns(options);
