import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { toDistFileUrl } from "../storage/dist-files.ts";

/** A file of the API documentation page. */
export interface DocsFile {
  readonly body: string | Buffer;
  readonly type: string;
}

const cssType = "text/css; charset=utf-8";
const jsType = "text/javascript; charset=utf-8";

/**
 * Files of Swagger UI. The build copies them from the npm package `@fastify/swagger-ui`. If the published server
 * depended on that package instead, it would also install a plugin that serves static files.
 */
const swaggerFileTypes: Readonly<Record<string, string>> = {
  "swagger-ui.css": cssType,
  "index.css": cssType,
  "swagger-ui-bundle.js": jsType,
  "favicon-32x32.png": "image/png",
};

const createPage = (basePath: string): string => `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>Millrace local server: API</title>
<link rel="stylesheet" href="${basePath}/docs/static/swagger-ui.css">
<link rel="stylesheet" href="${basePath}/docs/static/index.css">
<link rel="icon" type="image/png" href="${basePath}/docs/static/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${basePath}/docs/static/swagger-ui-bundle.js"></script>
<script src="${basePath}/docs/static/start.js"></script>
</body>
</html>
`;

// BaseLayout omits the top bar, in which a user can enter any URL to fetch. The validator is a service on another
// server. Without it, the page sends requests only to this server.
const createStartScript = (basePath: string): string => `SwaggerUIBundle({
  dom_id: "#swagger-ui",
  url: "${basePath}/openapi.json",
  validatorUrl: null,
  docExpansion: "list",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
});
`;

const loadedFiles = new Map<string, DocsFile>();

/**
 * Reads a file of the page by its path below `/docs`; each file is loaded once. Returns `undefined` if it does not
 * exist.
 *
 * @param basePath - the path below which the server is published
 */
export async function readDocsFile(path: string, basePath: string): Promise<DocsFile | undefined> {
  if (path === "") {
    return { body: createPage(basePath), type: "text/html; charset=utf-8" };
  }
  if (path === "static/start.js") {
    return { body: createStartScript(basePath), type: jsType };
  }
  const cached = loadedFiles.get(path);
  if (cached !== undefined) {
    return cached;
  }
  const file = await loadDocsFile(path);
  if (file !== undefined) {
    loadedFiles.set(path, file);
  }
  return file;
}

async function loadDocsFile(path: string): Promise<DocsFile | undefined> {
  const name = path.startsWith("static/") ? path.slice("static/".length) : "";
  const type = Object.hasOwn(swaggerFileTypes, name) ? swaggerFileTypes[name] : undefined;
  const filePath = fileURLToPath(toDistFileUrl(`api-docs/${name}`));
  return type === undefined || !existsSync(filePath)
    ? undefined
    : { body: await readFile(filePath), type };
}
