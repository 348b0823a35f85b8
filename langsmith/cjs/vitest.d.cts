export * from "../dist/entries/vitest.js";
