import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError(
  "langsmith/experimental/anthropic",
  "Wrap your call of query() with traceable, and tools' functions, too.",
);
