import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError(
  "langsmith/jest",
  "Use langsmith/vitest, or evaluate of langsmith/evaluation.",
);
