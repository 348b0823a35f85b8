export * from "../../dist/entries/openai-agents.js";
