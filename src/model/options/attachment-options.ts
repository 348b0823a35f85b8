import { toMillraceVariables } from "./option-row.ts";
import type { OptionRow } from "./option-row.ts";

/** Options for the attachments of runs. */
export interface AttachmentOptions {
  readonly maxAttachmentBytes: number;
  readonly attachBytesFrom: number;
  readonly dangerouslyAllowFilesystem: boolean;
}

const mebibyte = 1_048_576;

/** The rows of the option table for {@link AttachmentOptions}. */
export const attachmentOptionRows: { readonly [Name in keyof AttachmentOptions]: OptionRow } = {
  maxAttachmentBytes: {
    kind: "number",
    fallback: 32 * mebibyte,
    min: 1_024,
    max: 1_024 * mebibyte,
    env: toMillraceVariables("MAX_ATTACHMENT_BYTES"),
    doc: "Largest attachment of a run, in bytes; a larger one is replaced by a marker. In memory, all attachments of a record together may take at most half of `maxQueueBytes`.",
  },
  attachBytesFrom: {
    kind: "number",
    fallback: 262_144,
    min: 0,
    max: 1_024 * mebibyte,
    env: toMillraceVariables("ATTACH_BYTES_FROM"),
    doc: "Binary data inside inputs, outputs and other values is sent as an attachment if it has at least this many bytes, otherwise as base64.",
  },
  dangerouslyAllowFilesystem: {
    kind: "switch",
    fallback: false,
    env: toMillraceVariables("DANGEROUSLY_ALLOW_FILESYSTEM"),
    doc: "Whether an attachment may be the path of a file that is read and sent. Whoever controls the path controls which file leaves the machine.",
  },
};
