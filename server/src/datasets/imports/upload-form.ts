import type { IncomingMessage } from "node:http";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import type { BusboyFileStream, BusboyInstance } from "@fastify/busboy";
import { UploadFile } from "./upload-file.ts";
import { messageOf, RequestError } from "../../model/errors.ts";
import { readChunks } from "../../bodies/read-body.ts";
import { serverLimits } from "../../model/options.ts";

/** A multipart form that contains one file. */
export interface UploadForm {
  /** The values of each field, by field name. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly fileName: string;
  readonly file: UploadFile;
}

/**
 * Receives a multipart form. Writes its file to disk, because the form fields that describe the file may come after it.
 * The caller must close the file.
 *
 * @throws RequestError 413: the form exceeds a limit. 422: the body is not a valid form.
 */
export async function receiveForm(request: IncomingMessage, folder: string): Promise<UploadForm> {
  const file = await UploadFile.open(folder);
  try {
    return await receiveParts(request, file);
  } catch (cause) {
    await file.close();
    throw cause;
  }
}

async function receiveParts(request: IncomingMessage, file: UploadFile): Promise<UploadForm> {
  const form = createForm(request);
  const fields = new Map<string, string[]>();
  const files: { readonly name: string; readonly copying: Promise<void> }[] = [];
  let firstError: RequestError | undefined;
  const reject = (status: number, detail: string): void => {
    firstError ??= new RequestError(status, detail);
  };
  let fieldChars = 0;
  form.on("field", (name, value, ...[isNameTruncated, isValueTruncated]) => {
    if (isNameTruncated || isValueTruncated) {
      reject(413, `a field is longer than ${serverLimits.formFieldBytes} bytes; shorten it`);
    }
    // Limit the fields: unlike the file, they are held in memory.
    fieldChars += name.length + value.length;
    if (fieldChars > serverLimits.formChars) {
      reject(
        413,
        `the fields have more than ${serverLimits.formChars} characters in total; shorten them`,
      );
      return;
    }
    fields.set(name, [...(fields.get(name) ?? []), value]);
  });
  form.on("file", (field, stream, name) => {
    if (field !== "file" || files.length > 0) {
      reject(
        422,
        `only one file is accepted, in the part "file"; got another in ${JSON.stringify(field)}`,
      );
      stream.resume();
      return;
    }
    const copying = copyToFile(stream, file);
    copying.catch(() => undefined); // The error is thrown below, where the promise is awaited.
    files.push({ name: name ?? "", copying });
  });
  form.on("fieldsLimit", () =>
    reject(413, `the form has more than ${serverLimits.formFields} fields; send fewer`),
  );
  form.on("error", (cause: unknown) => reject(422, `the form is malformed: ${messageOf(cause)}`));
  const parsing = finished(form).catch((cause: unknown) =>
    reject(422, `the form is malformed: ${messageOf(cause)}`),
  );
  await readChunks(
    request,
    async (chunk) => {
      if (firstError !== undefined) {
        throw firstError;
      }
      if (!form.write(chunk)) {
        await Promise.race([once(form, "drain").catch(() => undefined), parsing]);
      }
    },
    { bytesMax: serverLimits.uploadBytes, withinMs: serverLimits.uploadMs },
  );
  form.end();
  await parsing;
  await files[0]?.copying;
  if (firstError !== undefined) {
    throw firstError;
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

async function copyToFile(stream: BusboyFileStream, file: UploadFile): Promise<void> {
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
