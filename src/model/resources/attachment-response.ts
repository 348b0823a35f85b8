import { Fields, omitUndefined } from "../fields.ts";
import type { KeyValues } from "../run.ts";

/** An attachment of an example or a run: its URL, not its content. */
export interface Attachment {
  /** URL for downloading the content. It needs no API key, and expires. */
  readonly presignedUrl: string;
  readonly mimeType?: string | undefined;
}

const attachmentPrefix = "attachment.";

/**
 * Parses attachments by name; `undefined` if there are none. The prefix `attachment.`, which names have on the wire, is
 * removed.
 */
export function parseAttachments(
  urls: KeyValues,
): Readonly<Record<string, Attachment>> | undefined {
  const entries = Object.entries(urls).map(([key, value]): [string, Attachment] => {
    const fields = new Fields(value, "attachment");
    const name = key.startsWith(attachmentPrefix) ? key.slice(attachmentPrefix.length) : key;
    const mimeType = fields.readOptionalText("mime_type");
    return [name, omitUndefined({ presignedUrl: fields.readText("presigned_url"), mimeType })];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Parses the attachments of a run from the response of `GET /runs/{id}`.
 *
 * @throws {@link ResponseError} if an attachment has no URL.
 */
export const parseRunAttachments = (run: unknown): Readonly<Record<string, Attachment>> => {
  const urls = new Fields(run, "run").readObject("s3_urls");
  const attachmentUrls = Object.entries(urls).filter(([key]) => key.startsWith(attachmentPrefix));
  return parseAttachments(Object.fromEntries(attachmentUrls)) ?? {};
};
