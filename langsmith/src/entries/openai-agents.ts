export { OpenAIAgentsTracingProcessor } from "../wrappers/openai-agents.ts";
