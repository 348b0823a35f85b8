import { notThere } from "../../not-there.ts";

throw notThere(
  "langsmith/experimental/anthropic",
  "Wrap your call of query() with traceable, and tools' functions, too.",
);
