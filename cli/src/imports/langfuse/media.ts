import type { KeyValues } from "millrace/model";
import { downloadAttachments } from "../source/download-attachments.ts";
import type { DownloadedAttachment } from "../source/download-attachments.ts";
import { toObject, toText } from "../model/json-values.ts";
import type { SourceClient } from "../source/source-client.ts";
import type { ImportTarget } from "../target/import-target.ts";
import { findMediaIds } from "./observation-row.ts";

/** Downloads the media to which a row refers. The references in its texts stay, with the names of the attachments. */
export async function downloadMedia(
  row: KeyValues,
  {
    client,
    target: { tally, isDryRun },
  }: { readonly client: SourceClient; readonly target: ImportTarget },
): Promise<readonly DownloadedAttachment[]> {
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
