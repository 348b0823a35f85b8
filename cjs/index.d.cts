export * from "../dist/main/index.js";
