import { createUnsupportedError } from "../../unsupported.ts";

throw createUnsupportedError(
  "This part of langsmith's generated client",
  "Use the methods of `Client`, or its member `millrace`.",
);
