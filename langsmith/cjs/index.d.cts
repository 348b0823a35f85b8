export * from "../dist/entries/index.js";
