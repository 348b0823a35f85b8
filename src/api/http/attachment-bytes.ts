import { ValidationError } from "../../model/errors.ts";
import type { Attachment } from "../../model/resources/attachment-response.ts";
import type { ApiTransport, CallOptions } from "./http.ts";

export interface AttachmentPlace extends CallOptions {
  /** Base address of the server that named it: its address may be a path there. */
  readonly endpoint: string;
}

/**
 * The bytes of an attachment.
 *
 * @throws {@link ValidationError} its address is malformed.
 */
export async function readAttachmentBytes(
  transport: ApiTransport,
  { presignedUrl }: Attachment,
  { endpoint, signal }: AttachmentPlace,
): Promise<Uint8Array> {
  const base = presignedUrl.startsWith("/") ? endpoint : undefined;
  const address = URL.canParse(presignedUrl, base) ? new URL(presignedUrl, base) : undefined;
  if (address === undefined || !/^https?:$/.test(address.protocol)) {
    throw new ValidationError("The address of an attachment must be http or https");
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of transport.fetchFile(address, { action: "read attachment", signal })) {
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
