export * from "../dist/entries/client.js";
