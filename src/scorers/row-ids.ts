import { createHash } from "node:crypto";

/**
 * Creates a version 5 UUID (RFC 9562, section 5.5). The same name in the same namespace always results in the same id.
 */
export function createNamedId(namespace: string, name: string): string {
  const digest = createHash("sha1")
    .update(namespace.replaceAll("-", ""), "hex")
    .update(name)
    .digest("hex");
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-5${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** Creates the id of an example's run in an experiment. */
export const createRunId = (experimentId: string, exampleId: string, repetition: number): string =>
  createNamedId(experimentId, `${exampleId}:${repetition}`);

/**
 * Creates the id of the feedback entry for one score of a run. The index is part of the id, because scores of one
 * evaluator may have the same key.
 */
export const createFeedbackId = (runId: string, key: string, index: number): string =>
  createNamedId(runId, `feedback:${index}:${key}`);
