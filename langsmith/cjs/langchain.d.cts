export * from "../dist/entries/langchain.js";
