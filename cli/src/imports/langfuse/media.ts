import type { KeyValues } from "millrace/model";
import { downloadAttachments } from "../source/download-attachments.ts";
import type { DownloadedAttachments } from "../source/download-attachments.ts";
import { toObject, toText } from "../model/json-values.ts";
import type { SourceClient } from "../source/source-client.ts";
import type { ImportTarget } from "../target/import-target.ts";
import { findMediaIds } from "./observation-row.ts";

/**
 * Downloads the media files to which a row refers, as attachments whose names are the ids of the files. The references
 * in the texts of the row contain the same ids, and are not changed.
 */
export async function downloadMedia(
  row: KeyValues,
  {
    client,
    target: { tally, isDryRun },
  }: { readonly client: SourceClient; readonly target: ImportTarget },
): Promise<DownloadedAttachments | undefined> {
  const id = toText(row["id"]) ?? "";
  const links = [];
  for (const mediaId of findMediaIds(row)) {
    const media = await client.find(`/api/public/media/${encodeURIComponent(mediaId)}`);
    const { url, contentType } = toObject(media);
    const address = toText(url);
    if (address === undefined) {
      tally.leaveOut("attachments", "the server no longer has this media file", id);
    } else {
      links.push({ name: mediaId, url: address, mimeType: toText(contentType) });
    }
  }
  return downloadAttachments(links, { client, tally, isDryRun, row: id });
}
