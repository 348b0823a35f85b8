import { isSafeImage } from "../text/safe-link.ts";

/** A file attached to a run or an example. */
export interface Attachment {
  readonly name: string;
  readonly mimeType: string;
  /** Path and query of its URL on this server. */
  readonly address: string;
}

export type AttachmentKind = "image" | "audio" | "video" | "text" | "other";

/** Decides how the UI previews a file. Only types that can't contain scripts are previewed. */
export function classifyAttachment({ mimeType }: Pick<Attachment, "mimeType">): AttachmentKind {
  if (isSafeImage(mimeType)) {
    return "image";
  }
  if (/^audio\/(?:mpeg|mp4|ogg|webm|wav|x-wav|flac|aac)(?:;|$)/i.test(mimeType)) {
    return "audio";
  }
  if (/^video\/(?:mp4|ogg|webm)(?:;|$)/i.test(mimeType)) {
    return "video";
  }
  return /^(text\/|application\/(?:json|x-ndjson|yaml|xml)(?:;|$))/i.test(mimeType)
    ? "text"
    : "other";
}

const attachmentPrefix = "attachment.";

/** Parses the files in `s3_urls` of a run, or in `attachment_urls` of an example. Invalid files are left out. */
export function parseAttachments(urls: unknown): readonly Attachment[] {
  if (typeof urls !== "object" || urls === null) {
    return [];
  }
  return Object.entries(urls).flatMap(([key, value]: [string, unknown]) => {
    const { presigned_url: url, mime_type: type } = (value ?? {}) as Readonly<
      Record<string, unknown>
    >;
    if (typeof url !== "string" || !URL.canParse(url)) {
      return [];
    }
    // The server builds the URLs from the request's host, which may differ from the origin of the UI.
    const { pathname, search } = new URL(url);
    const name = key.startsWith(attachmentPrefix) ? key.slice(attachmentPrefix.length) : key;
    const mimeType = typeof type === "string" ? type : "application/octet-stream";
    return [{ name, mimeType, address: pathname + search }];
  });
}
