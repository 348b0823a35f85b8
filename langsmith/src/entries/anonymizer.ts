export * from "../anonymizer.ts";
