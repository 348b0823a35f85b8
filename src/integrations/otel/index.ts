export { toSpanUuid, toTraceUuid } from "../../main/index.ts";
export { MillraceSpanProcessor } from "./span-processor.ts";
export type { SdkSpan, SpanProcessorOptions } from "./span-processor.ts";
export type { SpanRunOptions } from "./span-runs.ts";
export { millraceTracerProvider } from "./tracer-provider.ts";
export type { TracerProviderOptions } from "./tracer-provider.ts";
