export { wrapAnthropic } from "../wrappers/anthropic.ts";
