export * from "../../dist/entries/wrappers-gemini.js";
