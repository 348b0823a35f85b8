/** Binary data attached to a run, such as an image or a recording. */
export type RunAttachment =
  | {
      /** `type/subtype`, optionally with parameters. */
      readonly mimeType: string;
      /** The content, copied during the call. A string is sent as UTF-8. */
      readonly data: Uint8Array | ArrayBuffer | string;
    }
  | {
      readonly mimeType: string;
      /**
       * Path of a file that is read while it is sent. Requires the option
       * `dangerouslyAllowFilesystem`.
       */
      readonly path: string;
    }
  /** The same as `{ mimeType, data }`. */
  | readonly [mimeType: string, data: Uint8Array | ArrayBuffer | string];

/**
 * Attachments by name. A name has 1 to 128 characters and no dot, quote or control character, because it becomes part
 * of the name of a part in a multipart request. Other names are changed: `photo.png` is sent as `photo_png`.
 */
export type RunAttachments = Readonly<Record<string, RunAttachment>>;

/** Maximum length of an attachment's name, in UTF-16 code units. */
export const longestAttachmentName = 128;

/** Name prefix of attachments that are created from binary data inside values. */
export const extractedAttachmentPrefix = "millrace_";

/** MIME type of a marker: a text that is sent in place of an attachment and says why the attachment is missing. */
export const markerMimeType = "text/plain; charset=utf-8";

/** Whether a text is a valid attachment name: see {@link RunAttachments}. */
export const isAttachmentName = (name: string): boolean =>
  name.length <= longestAttachmentName && namePattern.test(name) && name.isWellFormed();

// oxlint-disable-next-line no-control-regex -- these characters are not allowed in a header
const namePattern = /^[^."\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/;

/** A MIME type: `type/subtype`, optionally with parameters (RFC 9110, section 8.3.1). */
export const mimePattern =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?: *; *[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/;

/** Maximum length of a MIME type, in characters. */
const longestMimeType = 256;

/**
 * Matches the parameter `length`. A MIME type must not have it, because a reader of the multipart request would mistake
 * its value for the length of the part.
 */
const lengthParameter = /;\s*length\s*=/i;

/** Whether a text is a MIME type that can be written into the header of a part. */
export const isMimeType = (text: string): boolean =>
  text.length <= longestMimeType && mimePattern.test(text) && !lengthParameter.test(text);
