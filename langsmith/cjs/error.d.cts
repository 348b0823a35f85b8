export * from "../dist/entries/error.js";
