import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import type { BusboyFileStream, BusboyInstance } from "@fastify/busboy";
import { UploadFile } from "./upload-file.ts";
import { messageOf, RequestError } from "../../model/errors.ts";
import { readChunks } from "../../bodies/read-body.ts";
import { serverLimits } from "../../model/options.ts";

/** A form with one file. */
export interface UploadForm {
  /** Values by field name, in the order of the form. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly fileName: string;
  readonly file: UploadFile;
}

/**
 * Receives a form as it arrives. The file is written to disk, because the fields that describe it may follow it. The
 * caller must close the file.
 *
 * @throws RequestError 413: it exceeds a limit. 422: it is not a valid form.
 */
export async function receiveForm(request: IncomingMessage, folder: string): Promise<UploadForm> {
  const file = await UploadFile.open(folder);
  try {
    return await receive(request, file);
  } catch (cause) {
    await file.close();
    throw cause;
  }
}

async function receive(request: IncomingMessage, file: UploadFile): Promise<UploadForm> {
  const form = createForm(request);
  const fields = new Map<string, string[]>();
  const files: { readonly name: string; readonly copied: Promise<void> }[] = [];
  let fault: RequestError | undefined;
  const refuse = (status: number, detail: string): void => {
    fault ??= new RequestError(status, detail);
  };
  let fieldChars = 0;
  form.on("field", (name, value, ...[isNameTruncated, isValueTruncated]) => {
    if (isNameTruncated || isValueTruncated) {
      refuse(413, `a field is longer than ${serverLimits.formFieldBytes} bytes; shorten it`);
    }
    // Fields are kept in memory, unlike the file.
    fieldChars += name.length + value.length;
    if (fieldChars > serverLimits.formChars) {
      refuse(413, `the fields are longer than ${serverLimits.formChars} characters together`);
      return;
    }
    fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  form.on("file", (field, stream, name) => {
    if (field !== "file" || files.length > 0) {
      refuse(
        422,
        `only one file is accepted, in the part "file"; got another in ${JSON.stringify(field)}`,
      );
      stream.resume();
      return;
    }
    const copied = copy(stream, file);
    copied.catch(() => undefined); // Awaited below.
    files.push({ name: name ?? "", copied });
  });
  form.on("fieldsLimit", () =>
    refuse(413, `the form has more than ${serverLimits.formFields} fields`),
  );
  form.on("error", (cause: unknown) => refuse(422, `the form is malformed: ${messageOf(cause)}`));
  const done = finished(form).catch((cause: unknown) =>
    refuse(422, `the form is malformed: ${messageOf(cause)}`),
  );
  await readChunks(
    request,
    async (chunk) => {
      if (fault !== undefined) {
        throw fault;
      }
      if (!form.write(chunk)) {
        await Promise.race([once(form, "drain").catch(() => undefined), done]);
      }
    },
    { bytesMax: serverLimits.uploadBytes, withinMs: serverLimits.uploadMs },
  );
  form.end();
  await done;
  await files[0]?.copied;
  if (fault !== undefined) {
    throw fault;
  }
  return { fields, file, fileName: files[0]?.name ?? "" };
}

function createForm(request: IncomingMessage): BusboyInstance {
  const contentType = request.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    throw new RequestError(422, "the body must be a form with content type multipart/form-data");
  }
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      limits: {
        fieldNameSize: 1_000,
        fieldSize: serverLimits.formFieldBytes,
        fields: serverLimits.formFields,
        fileSize: serverLimits.uploadBytes,
        headerPairs: 100,
      },
    });
  } catch (cause) {
    throw new RequestError(422, `the form is malformed: ${messageOf(cause)}`);
  }
}

async function copy(stream: BusboyFileStream, file: UploadFile): Promise<void> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    await file.write(chunk);
  }
  if (stream.truncated) {
    throw new RequestError(
      413,
      `the file is larger than ${serverLimits.uploadBytes} bytes; split it into several uploads`,
    );
  }
}
