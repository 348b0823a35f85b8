export { convertMessageToTracedFormat } from "../unsupported-names.ts";
export {
  createLangSmithProviderOptions,
  LangSmithTelemetry,
  wrapAISDK,
} from "../wrappers/vercel.ts";
export type { LangSmithTelemetryConfig, WrapAISDKConfig } from "../wrappers/vercel.ts";
