import type { RequestScoped } from "../../http/request-scope.ts";
import type { FastifyReply, FastifyRequest } from "fastify";
import { RequestError } from "../../model/errors.ts";
import type { FileTarget, WithLinks } from "../../http/signed-links.ts";
import type { Promised } from "../../storage/promised.ts";
import type { RunReads } from "../run-query.ts";
import { firstValue } from "../../http/query-string.ts";
import type { QueryString } from "../../http/query-string.ts";

/** Reads the files of runs and of examples. */
export interface FileStore extends RequestScoped<FileStore> {
  readonly read: Promised<{
    readonly runs: Pick<RunReads, "findFile">;
    readonly examples: { findBlob(blob: number): Uint8Array | undefined };
  }>;
}

/** `GET /attachments?token`: returns a file of a run or an example. The signed token identifies the file. */
export async function readAttachment(
  { store, links }: WithLinks<FileStore>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const token = firstValue(request.query as QueryString, "token") ?? "";
  const file = await findFile(store, links.readTarget(token));
  if (file === undefined) {
    throw new RequestError(
      404,
      "the attachment no longer exists: it was deleted with its run or example",
    );
  }
  // A client has chosen the content of the file, so a browser must not render it as a page of this origin.
  return reply
    .headers({
      "content-type": mediaTypePattern.test(file.mimeType)
        ? file.mimeType
        : "application/octet-stream",
      "content-disposition": "attachment",
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
      "cache-control": "private, no-store",
    })
    .send(Buffer.from(file.bytes));
}

const mediaTypePattern = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w-]+=[\w.+-]+)*$/;

interface StoredFile {
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

async function findFile(store: FileStore, target: FileTarget): Promise<StoredFile | undefined> {
  if (target.kind === "run") {
    return store.read.runs.findFile(target.tenantId, target);
  }
  const bytes = await store.read.examples.findBlob(target.blob);
  return bytes === undefined ? undefined : { mimeType: target.mimeType, bytes };
}
