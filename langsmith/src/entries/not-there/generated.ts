import { notThere } from "../../not-there.ts";

throw notThere(
  "This part of langsmith's generated client",
  "Use the methods of `Client`, or its member `millrace`.",
);
