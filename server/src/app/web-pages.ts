import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { toDistFileUrl } from "../storage/dist-files.ts";

/** The folder of the built UI. If it does not exist, the server only serves its API. */
const webFolder = fileURLToPath(toDistFileUrl("web"));

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Types whose files are compressed already. */
const compressedTypes: ReadonlySet<string> = new Set(["font/woff2"]);
/** Files with fewer bytes are sent as they are: they fit in one network packet even if they are not compressed. */
const minCompressedBytes = 1_000;

const fileHeaders = {
  // Allows only files of this server, and images that the UI creates from the contents of runs. Inline scripts are
  // forbidden, so text from a run can't be executed.
  "content-security-policy":
    "default-src 'self'; img-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** URL path of the page, which is also its path in the folder of the built UI. */
const pagePath = "/index.html";

interface WebFile {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly cacheControl: string;
  /** The compressed contents that clients have requested so far. A file is compressed once per encoding. */
  readonly compressedBodies: Map<Encoding, Promise<Buffer>>;
}

/** The encodings in which files are sent, the best first. */
const encodings = ["br", "gzip"] as const;
type Encoding = (typeof encodings)[number];

/** The functions that compress a file. They run on the threads of libuv, so other requests do not wait for them. */
const compressors: { readonly [Name in Encoding]: (body: Buffer) => Promise<Buffer> } = {
  br: async (body) =>
    promisify(brotliCompress)(body, {
      params: {
        // The first visitor waits for this. From level 9 on, brotli fills large tables for each file: compressing all
        // files took more than 40 times as long, to save one per cent (level 9) or seven (level 11).
        [constants.BROTLI_PARAM_QUALITY]: 6,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  gzip: async (body) => promisify(gzip)(body, { level: 9 }),
};

/**
 * Paths of the UI. Some are also paths of the API. A request for such a path is answered with the UI if the request
 * accepts HTML, as the requests of a browser that opens a URL do.
 */
const uiPathPattern =
  /^\/(?:$|o\/|prompts(?:\/|$)|playground\/?$|experiments\/new\/?$|hub(?:\/|$)|public\/[^/]+\/[dr]\/?$|feedback\/tokens\/[^/]+\/?$)/;

/**
 * Matches a feedback link whose query contains feedback: opening it submits this feedback. Without feedback, the link
 * leads to a form.
 */
const feedbackLinkPattern =
  /^\/feedback\/tokens\/[^?]*\?(?:.*&)?(?:score|value|comment|correction)=/;

/**
 * Responds with the UI to a request that no route matches, if the request accepts HTML; otherwise returns `false`.
 */
export type SendPageNotFound = (
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | false;

export interface WebPageOptions {
  /** The folder of the built UI. */
  readonly folder?: string;
  /** The path below which the server is published. */
  readonly basePath?: string;
}

/**
 * Serves the UI: its files by their names, and its page at each of its paths to requests that accept HTML. All other
 * requests are handled by the API.
 *
 * @returns the handler of requests that no route matches; to browsers it sends the UI, which shows "not found".
 */
export function addWebPages(
  app: FastifyInstance,
  { folder = webFolder, basePath = "" }: WebPageOptions = {},
): SendPageNotFound {
  if (!existsSync(join(folder, pagePath.slice(1)))) {
    return () => false;
  }
  let files: ReadonlyMap<string, WebFile> | undefined;
  // All files are read together, so that a browser never gets files of two builds. They are read at the first request
  // for one of them: most servers in tests serve no UI, and reading would take a tenth of their start time.
  const findFile = (path: string): WebFile | undefined =>
    (files ??= readWebFiles(folder, basePath)).get(path);
  app.addHook(
    "onRequest",
    async ({ method, url, headers: { accept = "", ...clientHeaders } }, reply) => {
      if (method !== "GET" && method !== "HEAD") {
        return undefined;
      }
      const path = url.split("?", 1)[0] ?? "";
      const isPage =
        uiPathPattern.test(path) && !feedbackLinkPattern.test(url) && accept.includes("text/html");
      const file = isPage ? findFile(pagePath) : contentTypes[extname(path)] && findFile(path);
      return file && sendFile(reply, file, clientHeaders);
    },
  );
  return ({ method, headers: { accept = "" } }, reply) => {
    const isPageRequest = (method === "GET" || method === "HEAD") && accept.includes("text/html");
    const page = isPageRequest ? findFile(pagePath) : undefined;
    return (
      page !== undefined &&
      setHeaders(reply.code(404), page, page.etag).type(page.type).send(page.body)
    );
  };
}

async function sendFile(
  reply: FastifyReply,
  file: WebFile,
  clientHeaders: IncomingHttpHeaders,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(file, clientHeaders["accept-encoding"]);
  const etag = encoding === undefined ? file.etag : file.etag.replace(/"$/, `-${encoding}"`);
  setHeaders(reply, file, etag);
  if (clientHeaders["if-none-match"] === etag) {
    return reply.code(304).send();
  }
  if (encoding === undefined) {
    return reply.type(file.type).send(file.body);
  }
  const compressedBody = file.compressedBodies.get(encoding) ?? compressors[encoding](file.body);
  file.compressedBodies.set(encoding, compressedBody);
  return reply
    .type(file.type)
    .header("content-encoding", encoding)
    .send(await compressedBody);
}

const setHeaders = (reply: FastifyReply, { cacheControl }: WebFile, etag: string): FastifyReply =>
  reply.headers({
    ...fileHeaders,
    etag,
    "cache-control": cacheControl,
    vary: "accept, accept-encoding",
  });

/** Returns the best encoding that the client accepts; `undefined` if the file must be sent as it is. */
function chooseEncoding(
  { body, type }: WebFile,
  accepted: string | string[] = "",
): Encoding | undefined {
  if (body.length < minCompressedBytes || compressedTypes.has(type)) {
    return undefined;
  }
  const acceptedNames = String(accepted)
    .split(",")
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(";", 1)[0]?.trim());
  return encodings.find((name) => acceptedNames.includes(name));
}

/**
 * Adds the base path to the page. The addresses of its files then begin with the base path, whatever the path of the
 * page is. Scripts read it from a meta element, because inline scripts are forbidden.
 */
const addBasePath = (html: string, basePath: string): string =>
  html
    .replaceAll(/(src|href)="\.\//g, `$1="${basePath}/`)
    .replace("<head>", `<head>\n    <meta name="millrace-base-path" content="${basePath}" />`);

/** Reads the files of the UI, about half a megabyte, into memory. Returns them by URL path. */
function readWebFiles(folder: string, basePath: string): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = contentTypes[extname(entry.name)];
    if (entry.isFile() && type !== undefined) {
      const path = join(entry.parentPath, entry.name);
      const urlPath = `/${relative(folder, path).split(sep).join("/")}`;
      const content = readFileSync(path);
      const body =
        urlPath === pagePath
          ? Buffer.from(addBasePath(content.toString("utf8"), basePath))
          : content;
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      // Names below assets/ contain a digest of the content.
      const cacheControl = urlPath.startsWith("/assets/")
        ? "public, max-age=31536000, immutable"
        : "no-cache";
      files.set(urlPath, { body, type, etag, cacheControl, compressedBodies: new Map() });
    }
  }
  return files;
}
