export * from "../dist/entries/traceable.js";
