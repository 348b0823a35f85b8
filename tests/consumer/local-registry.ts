import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { repositoryRoot } from "./installed.ts";
import type { PackedPackage } from "./packed-packages.ts";

const run = promisify(execFile);

/** An npm registry on this machine with our packages as they would be published. */
export interface LocalRegistry extends AsyncDisposable {
  readonly version: string;
  /** Environment variables that make npm use this registry, with the settings of this machine, under any Node version. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Serves the packed packages to npm. Requests for any other package are redirected to the configured registry.
 * Commands from the documentation can then run unchanged.
 */
export async function startLocalRegistry(): Promise<LocalRegistry> {
  const { folder, packages } = inject("packedPackages");
  const upstream = await npmSetting("registry");
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/").slice(1);
    const file = files.get(path);
    if (file === undefined) {
      response
        .writeHead(302, { location: new URL(request.url?.slice(1) ?? "", upstream).href })
        .end();
    } else {
      response.writeHead(200).end(file);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const one of packages) {
    const tarball = await readFile(join(folder, one.filename));
    const manifest = await readManifest(join(folder, one.filename));
    files.set(one.filename, tarball);
    files.set(one.name, Buffer.from(JSON.stringify(documentOf(manifest, { url, ...one }))));
  }
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
  };
  return {
    version: packages[0].version,
    environment: {
      npm_config_registry: url,
      npm_config_globalconfig: await npmSetting("globalconfig"),
    },
    [Symbol.asyncDispose]: close,
  };
}

const npmSetting = async (name: string): Promise<string> =>
  (await run("npm", ["config", "get", name], { cwd: repositoryRoot })).stdout.trim();

/** The package.json in a tarball, because the one in the folder may contain unpublished fields. */
async function readManifest(tarball: string): Promise<object> {
  const { stdout } = await run("tar", ["-xzOf", tarball, "package/package.json"]);
  return JSON.parse(stdout) as object;
}

/** The registry's document about a package. */
const documentOf = (manifest: object, one: PackedPackage & { readonly url: string }): unknown => ({
  name: one.name,
  "dist-tags": { latest: one.version },
  versions: {
    [one.version]: {
      ...manifest,
      dist: { tarball: `${one.url}${one.filename}`, integrity: one.integrity },
    },
  },
});
