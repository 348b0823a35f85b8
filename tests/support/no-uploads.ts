import type { Uploader } from "../../src/api/uploads.ts";

const refuse = (): never => {
  throw new Error("This noun was made without uploads");
};

/** For nouns whose uploads are not what a test is about. */
export const noUploads: Uploader = {
  examples: refuse,
  examplesStream: refuse,
  feedback: refuse,
  runs: refuse,
};
