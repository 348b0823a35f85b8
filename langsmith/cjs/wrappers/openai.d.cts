export * from "../../dist/entries/wrappers-openai.js";
