export * from "../dist/entries/version.js";
