export * from "../../dist/entries/wrappers-anthropic.js";
