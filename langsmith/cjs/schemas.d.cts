export * from "../dist/entries/schemas.js";
