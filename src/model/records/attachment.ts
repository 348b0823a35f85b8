/** Binary data beside a run, such as an image or a recording. */
export type RunAttachment =
  | {
      /** `type/subtype`, with parameters where it has some. */
      readonly mimeType: string;
      /** Copied at the call; a text is sent as UTF-8. */
      readonly data: Uint8Array | ArrayBuffer | string;
    }
  | {
      readonly mimeType: string;
      /** A file that is read as it is sent; with the option `dangerouslyAllowFilesystem` only. */
      readonly path: string;
    }
  /** The same as `{ mimeType, data }`. */
  | readonly [mimeType: string, data: Uint8Array | ArrayBuffer | string];

/**
 * By name: 1 to 128 characters, no dot, quote or control character, as a name
 * is a part of a name on the wire.
 */
export type RunAttachments = Readonly<Record<string, RunAttachment>>;

/** In UTF-16 units. */
export const longestAttachmentName = 128;

/** What the names of attachments begin with that are made of binary data inside values. */
export const extractedAttachmentPrefix = "millrace_";

/** The MIME type of a marker in place of an attachment. */
export const markerMimeType = "text/plain; charset=utf-8";

/** Whether it can stand in the name of a part: see {@link RunAttachments}. */
export const isAttachmentName = (name: string): boolean =>
  name.length <= longestAttachmentName && namePattern.test(name) && name.isWellFormed();

// oxlint-disable-next-line no-control-regex -- they are what a header must not hold
const namePattern = /^[^."\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/;

/** `type/subtype`, and parameters (RFC 9110, section 8.3.1). */
export const mimePattern =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: *; *[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/;

/** In characters: what is longer is no type. */
const longestMimeType = 256;

/** A parameter `length` would be taken for the length of the part. */
const lengthParameter = /;\s*length\s*=/i;

/** Whether it can stand in the header of a part. */
export const isMimeType = (text: string): boolean =>
  text.length <= longestMimeType && mimePattern.test(text) && !lengthParameter.test(text);
