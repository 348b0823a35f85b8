export { wrapOpenAI } from "../wrappers/openai.ts";
export { wrapSDK } from "../wrappers/sdk.ts";
