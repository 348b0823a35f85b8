export { default } from "../../dist/entries/vitest-reporter.js";
