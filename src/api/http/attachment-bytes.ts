import { ValidationError } from "../../model/errors.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { ApiTransport, CallOptions } from "./http.ts";

/** Options of {@link readAttachmentBytes}. */
export interface ReadAttachmentOptions extends CallOptions {
  /** Base URL of the server that returned the attachment: `presignedUrl` may be a path on that server. */
  readonly endpoint: string;
}

/**
 * Downloads an attachment.
 *
 * @throws {@link ValidationError} if its address is malformed.
 */
export async function readAttachmentBytes(
  transport: ApiTransport,
  attachment: Attachment,
  { endpoint, signal }: ReadAttachmentOptions,
): Promise<Uint8Array> {
  // A program without types may pass an attachment without a URL.
  const given: unknown = attachment.presignedUrl;
  const presignedUrl = typeof given === "string" ? given : "";
  const base = presignedUrl.startsWith("/") ? endpoint : undefined;
  const address = URL.canParse(presignedUrl, base) ? new URL(presignedUrl, base) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol)) {
    throw new ValidationError(
      "The address of an attachment must be http or https: pass an attachment that the server returned, with its presignedUrl",
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of transport.fetchFile(address, { action: "read attachment", signal })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The names of the fields of {@link Attachment}. */
export const attachmentKeys = { mimeType: true, presignedUrl: true } as const;
