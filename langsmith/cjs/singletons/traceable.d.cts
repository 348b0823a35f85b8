export * from "../../dist/entries/singletons.js";
