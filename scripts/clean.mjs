// Removes the output of builds, tests and reports.
import { rmSync } from "node:fs";

for (const folder of [
  "dist",
  "server/dist",
  "cli/dist",
  "langsmith/dist",
  "examples/ask-the-docs/dist",
  "coverage",
  "temp",
]) {
  rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
}
