export * from "../dist/entries/run-trees.js";
