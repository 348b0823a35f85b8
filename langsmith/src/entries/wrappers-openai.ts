export { wrapOpenAI } from "../wrappers/openai.ts";
