import type { Tally } from "../model/tally.ts";
import { SourceError } from "./source-client.ts";
import type { SourceClient } from "./source-client.ts";

/** A file that belongs to a run or an example, with a signed URL. */
export interface AttachmentLink {
  readonly name: string;
  readonly url: string;
  readonly mimeType: string | undefined;
}

/** The attachments of a row by name, in the format of runs and examples. */
export type DownloadedAttachments = Readonly<
  Record<string, { readonly mimeType: string; readonly data: Buffer }>
>;

/** Maximum total size of the attachments of one row, in bytes. An upload refuses a run with more. */
const maxRowBytes = 33_554_432;

/**
 * Downloads the attachments of a row. Attachments that can't be read are reported, and the row is imported without
 * them.
 *
 * @returns `undefined` if the row has no attachments.
 */
export async function downloadAttachments(
  links: readonly AttachmentLink[],
  {
    client,
    tally,
    isDryRun,
    row,
  }: {
    readonly client: SourceClient;
    readonly tally: Tally;
    readonly isDryRun: boolean;
    /** The id of the row, for the report. */
    readonly row: string;
  },
): Promise<DownloadedAttachments | undefined> {
  const attachments = new Map<string, { readonly mimeType: string; readonly data: Buffer }>();
  let remainingBytes = maxRowBytes;
  for (const { name, url, mimeType = "application/octet-stream" } of links) {
    if (isDryRun) {
      tally.add("attachments", "imported");
      continue;
    }
    if (!isStorableName(name) || !isMimeType(mimeType)) {
      tally.leaveOut("attachments", "its name or its MIME type is not allowed in a request", row);
      continue;
    }
    try {
      const data = await client.download(url, remainingBytes);
      remainingBytes -= data.length;
      attachments.set(name, { mimeType, data });
      tally.add("attachments", "imported");
    } catch (error) {
      if (!(error instanceof SourceError)) {
        throw error;
      }
      tally.leaveOut("attachments", error.message, row);
    }
  }
  return attachments.size === 0 ? undefined : Object.fromEntries(attachments);
}

/** Whether a name can be part of the header of an upload, in which a dot separates it from the id. */
const isStorableName = (name: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- these characters are not allowed in a header
  /^[^."\u0000-\u001f\u007f-\u009f\u2028\u2029]{1,200}$/.test(name) && name.isWellFormed();

const isMimeType = (text: string): boolean =>
  text.length <= 200 && /^[\w!#$&^.+-]+\/[\w!#$&^.+;= -]+$/.test(text);
