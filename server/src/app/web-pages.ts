import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { toDistFileUrl } from "../storage/dist-files.ts";

/** The folder of the built UI. If it does not exist, the server only serves its API. */
const webFolder = fileURLToPath(toDistFileUrl("web"));

const contentTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

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

interface WebFile {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly cacheControl: string;
}

/**
 * Paths of the UI. Some are also paths of the API. A request for such a path is answered with the UI if the request
 * accepts HTML, as the requests of a browser that opens a URL do.
 */
const uiPathPattern =
  /^\/(?:$|o\/|prompts(?:\/|$)|hub(?:\/|$)|public\/[^/]+\/[dr]\/?$|feedback\/tokens\/[^/]+\/?$)/;

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

/**
 * Serves the UI: its files by their names, and its page at each of its paths to requests that accept HTML. All other
 * requests are handled by the API.
 *
 * @returns the handler of requests that no route matches; to browsers it sends the UI, which shows "not found".
 */
export function addWebPages(app: FastifyInstance, folder = webFolder): SendPageNotFound {
  const files = readWebFiles(folder);
  const page = files.get("/index.html");
  if (page === undefined) {
    return () => false;
  }
  app.addHook(
    "onRequest",
    async ({ method, url, headers: { accept = "", ...otherHeaders } }, reply) => {
      if (method !== "GET" && method !== "HEAD") {
        return undefined;
      }
      const path = url.split("?", 1)[0] ?? "";
      const isPage =
        uiPathPattern.test(path) && !feedbackLinkPattern.test(url) && accept.includes("text/html");
      const file = files.get(isPage ? "/index.html" : path);
      return file === undefined ? undefined : sendFile(reply, file, otherHeaders["if-none-match"]);
    },
  );
  return ({ method, headers: { accept = "" } }, reply) =>
    (method === "GET" || method === "HEAD") &&
    accept.includes("text/html") &&
    sendFile(reply.code(404), page);
}

function sendFile(reply: FastifyReply, file: WebFile, clientEtag?: string): FastifyReply {
  const { body, type, etag, cacheControl } = file;
  void reply.headers({ ...fileHeaders, etag, "cache-control": cacheControl, vary: "accept" });
  return clientEtag === etag ? reply.code(304).send() : reply.type(type).send(body);
}

/** Reads the files of the UI, about half a megabyte, into memory. Returns them by URL path. */
function readWebFiles(folder: string): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  if (!existsSync(join(folder, "index.html"))) {
    return files;
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = contentTypes[extname(entry.name)];
    if (entry.isFile() && type !== undefined) {
      const path = join(entry.parentPath, entry.name);
      const urlPath = `/${relative(folder, path).split(sep).join("/")}`;
      const body = readFileSync(path);
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      // Names below assets/ contain a digest of the content.
      const cacheControl = urlPath.startsWith("/assets/")
        ? "public, max-age=31536000, immutable"
        : "no-cache";
      files.set(urlPath, { body, type, etag, cacheControl });
    }
  }
  return files;
}
