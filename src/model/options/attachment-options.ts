import { own } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** The options that say which binary parts a run may have. */
export interface AttachmentOptions {
  readonly maxAttachmentBytes: number;
  readonly attachBytesFrom: number;
  readonly dangerouslyAllowFilesystem: boolean;
}

const mebibyte = 1_048_576;

export const attachmentRows: { readonly [Name in keyof AttachmentOptions]: OptionRow } = {
  maxAttachmentBytes: {
    kind: "number",
    fallback: 32 * mebibyte,
    min: 1_024,
    max: 1_024 * mebibyte,
    env: own("MAX_ATTACHMENT_BYTES"),
    doc: "Size of one attachment of a run; one in memory, and all of a record together, at most half of `maxQueueBytes`. A larger one is left out, with a marker in its place.",
  },
  attachBytesFrom: {
    kind: "number",
    fallback: 262_144,
    min: 0,
    max: 1_024 * mebibyte,
    env: own("ATTACH_BYTES_FROM"),
    doc: "Binary data inside inputs, outputs and other values is sent as an attachment from this size on, and as base64 below it.",
  },
  dangerouslyAllowFilesystem: {
    kind: "switch",
    fallback: false,
    env: own("DANGEROUSLY_ALLOW_FILESYSTEM"),
    doc: "Whether an attachment may name a file to be read and sent. Whoever decides on the path decides which file leaves the machine.",
  },
};
