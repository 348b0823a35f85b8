import { Fields, definedOf } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** Bytes beside an example or a run: their address, not the bytes. */
export interface Attachment {
  /** Needs no key, and expires. */
  readonly presignedUrl: string;
  readonly mimeType?: string | undefined;
}

const attachmentPrefix = "attachment.";

/**
 * Attachments by name; `undefined` without attachments. On the wire the names have a prefix.
 *
 * @throws {@link ResponseError} one has no address.
 */
export function parseAttachments(
  urls: KeyValues,
): Readonly<Record<string, Attachment>> | undefined {
  const entries = Object.entries(urls).map(([key, value]): [string, Attachment] => {
    const fields = new Fields(value, "attachment");
    const name = key.startsWith(attachmentPrefix) ? key.slice(attachmentPrefix.length) : key;
    const mimeType = fields.optionalText("mime_type");
    return [name, definedOf({ presignedUrl: fields.text("presigned_url"), mimeType })];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** The attachments of a run as `GET /runs/{id}` answers it. @throws {@link ResponseError} as above. */
export const parseRunAttachments = (run: unknown): Readonly<Record<string, Attachment>> => {
  const urls = new Fields(run, "run").object("s3_urls");
  const named = Object.entries(urls).filter(([key]) => key.startsWith(attachmentPrefix));
  return parseAttachments(Object.fromEntries(named)) ?? {};
};
