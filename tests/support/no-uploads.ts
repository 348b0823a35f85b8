import type { Uploader } from "../../src/api/uploads.ts";

const refuse = (): never => {
  throw new Error("This resource was created without uploads");
};

/** For resources in tests that do not upload anything. */
export const noUploads: Uploader = {
  uploadExamples: refuse,
  streamExamples: refuse,
  uploadFeedback: refuse,
  uploadRuns: refuse,
};
