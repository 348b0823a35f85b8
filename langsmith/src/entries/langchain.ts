export { getLangchainCallbacks, RunnableTraceable } from "../tracing/langchain.ts";
