export { createUsageMetadata } from "../unsupported-names.ts";
export { wrapAnthropic } from "../wrappers/anthropic.ts";
