import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../model/errors.ts";
import type { FileTarget, SignedLinks } from "../shares/signed-links.ts";
import type { Store } from "../store/store.ts";
import { first } from "../http/query-string.ts";
import type { QueryString } from "../http/query-string.ts";

/** `GET /attachments?token`: a file of a run or an example, under an address that was signed. */
export async function readAttachment(
  { store, links }: { readonly store: Store; readonly links: SignedLinks },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const token = first(request.query as QueryString, "token") ?? "";
  const file = await findFile(store, links.open(token));
  if (file === undefined) {
    throw new RequestError(
      404,
      "the attachment is not there any more: it was deleted with its run or example",
    );
  }
  // Whatever it is, it must not run as a page of this server.
  return reply
    .headers({
      "content-type": mediaType.test(file.mimeType) ? file.mimeType : "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    })
    .send(Buffer.from(file.bytes));
}

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/;

interface StoredFile {
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

async function findFile(store: Store, target: FileTarget): Promise<StoredFile | undefined> {
  if (target.kind === "run") {
    return store.read.runs.findFile(target.tenantId, target);
  }
  const bytes = await store.read.examples.findBlob(target.blob);
  return bytes === undefined ? undefined : { mimeType: target.mimeType, bytes };
}
