import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { distFile } from "../storage/dist-files.ts";

/** Where the build of the web interface lies; nothing there: the server answers its API alone. */
const webFolder = fileURLToPath(distFile("web"));

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

const headers = {
  // Files of this server alone, and images that the page made of what a run holds. Nothing inline, so
  // that text from a run can't become a program.
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
 * The addresses of pages. Some are also paths of the API. A request that accepts HTML, as a browser sends it where an
 * address is opened, is for the page.
 */
const pages =
  /^\/(?:$|o\/|prompts(?:\/|$)|hub(?:\/|$)|public\/[^/]+\/[dr]\/?$|feedback\/tokens\/[^/]+\/?$)/;

/** A link that holds a judgement gives it when it is opened; without one it leads to a form. */
const givesFeedback = /^\/feedback\/tokens\/[^?]*\?(?:.*&)?(?:score|value|comment|correction)=/;

/** Answers what is at no address: with the page where HTML is asked for; `false` where it is not. */
export type SendNoPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | false;

/**
 * Serves the UI: its files by their names, and its page at each of its addresses to requests that accept HTML. All other
 * requests go to the API.
 *
 * @returns the handler of requests that match nothing else: for people it is the page, which shows "not found".
 */
export function addWeb(app: FastifyInstance, folder = webFolder): SendNoPage {
  const files = readWeb(folder);
  const page = files.get("/index.html");
  if (page === undefined) {
    return () => false;
  }
  app.addHook("onRequest", async ({ method, url, headers: { accept = "", ...rest } }, reply) => {
    if (method !== "GET" && method !== "HEAD") {
      return undefined;
    }
    const path = url.split("?", 1)[0] ?? "";
    const isPage = pages.test(path) && !givesFeedback.test(url) && accept.includes("text/html");
    const file = files.get(isPage ? "/index.html" : path);
    return file === undefined ? undefined : sendFile(reply, file, rest["if-none-match"]);
  });
  return ({ method, headers: { accept = "" } }, reply) =>
    (method === "GET" || method === "HEAD") &&
    accept.includes("text/html") &&
    sendFile(reply.code(404), page);
}

function sendFile(reply: FastifyReply, file: WebFile, knownTag?: string): FastifyReply {
  const { body, type, etag, cacheControl } = file;
  void reply.headers({ ...headers, etag, "cache-control": cacheControl, vary: "accept" });
  return knownTag === etag ? reply.code(304).send() : reply.type(type).send(body);
}

/** The files by the path under which they are asked for; half a megabyte, read once. */
function readWeb(folder: string): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  if (!existsSync(join(folder, "index.html"))) {
    return files;
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const type = types[extname(entry.name)];
    if (entry.isFile() && type !== undefined) {
      const path = join(entry.parentPath, entry.name);
      const name = `/${relative(folder, path).split(sep).join("/")}`;
      const body = readFileSync(path);
      const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      // A name below assets/ holds a digest of its content.
      const cacheControl = name.startsWith("/assets/")
        ? "public, max-age=31536000, immutable"
        : "no-cache";
      files.set(name, { body, type, etag, cacheControl });
    }
  }
  return files;
}
