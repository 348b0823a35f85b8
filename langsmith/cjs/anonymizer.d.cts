export * from "../dist/entries/anonymizer.js";
