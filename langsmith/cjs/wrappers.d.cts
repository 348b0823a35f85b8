export * from "../dist/entries/wrappers.js";
