import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError(
  "langsmith/experimental/otel",
  "Use `millrace/otel` to record spans as runs, or the option `otlp` of millrace's Client to send runs as spans.",
);
