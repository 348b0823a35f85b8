import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { distFile } from "../storage/dist-files.ts";

/** A file of the page over the calls. */
export interface DocsFile {
  readonly body: string | Buffer;
  readonly type: string;
}

const css = "text/css; charset=utf-8";
const js = "text/javascript; charset=utf-8";

/** Swagger UI's files, which the build copies: the package that holds them brings a server along. */
const copied: Readonly<Record<string, string>> = {
  "swagger-ui.css": css,
  "index.css": css,
  "swagger-ui-bundle.js": js,
  "favicon-32x32.png": "image/png",
};

const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>Millrace: calls of the local server</title>
<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<link rel="stylesheet" href="/docs/static/index.css">
<link rel="icon" type="image/png" href="/docs/static/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/static/swagger-ui-bundle.js"></script>
<script src="/docs/static/start.js"></script>
</body>
</html>
`;

// BaseLayout leaves out the bar on top, whose field would fetch from anywhere; without a validator the
// page asks this server alone.
const start = `SwaggerUIBundle({
  dom_id: "#swagger-ui",
  url: "/openapi.json",
  validatorUrl: null,
  docExpansion: "list",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
});
`;

const files = new Map<string, DocsFile>();

/** Reads a file of the page by its path below `/docs`, once; `undefined` where it does not exist. */
export async function readDocsFile(path: string): Promise<DocsFile | undefined> {
  const known = files.get(path);
  if (known !== undefined) {
    return known;
  }
  const file = await loadDocsFile(path);
  if (file !== undefined) {
    files.set(path, file);
  }
  return file;
}

async function loadDocsFile(path: string): Promise<DocsFile | undefined> {
  if (path === "") {
    return { body: page, type: "text/html; charset=utf-8" };
  }
  if (path === "static/start.js") {
    return { body: start, type: js };
  }
  const name = path.startsWith("static/") ? path.slice("static/".length) : "";
  const type = Object.hasOwn(copied, name) ? copied[name] : undefined;
  const place = fileURLToPath(distFile(`api-docs/${name}`));
  return type === undefined || !existsSync(place)
    ? undefined
    : { body: await readFile(place), type };
}
