export * from "../dist/entries/evaluation.js";
