import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "./installed.ts";

const run = promisify(execFile);

/** The folders of the published packages. */
const publishedFolders = [".", "server", "cli"] as const;

/** An npm registry on this machine with our three packages as they would be published. */
export interface LocalRegistry extends AsyncDisposable {
  readonly version: string;
  /** Environment variables that make npm use this registry, with the settings of this machine, under any Node version. */
  readonly environment: NodeJS.ProcessEnv;
}

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly integrity: string;
}

/**
 * Packs the three packages and serves them to npm. Requests for any other package are redirected to the configured
 * registry. Commands from the documentation can then run unchanged. Requires a build.
 */
export async function startLocalRegistry(): Promise<LocalRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-registry-"));
  const packing = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  const { stdout } = await run(
    "npm",
    [...packing, ...publishedFolders.map((name) => `./${name}`)],
    { cwd: repositoryRoot },
  );
  const packed = JSON.parse(stdout) as readonly Packed[];
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
  for (const one of packed) {
    const tarball = await readFile(join(folder, one.filename));
    const manifest = await readManifest(join(folder, one.filename));
    files.set(one.filename, tarball);
    files.set(one.name, Buffer.from(JSON.stringify(documentOf(manifest, { url, ...one }))));
  }
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  };
  return {
    version: packed[0]?.version ?? "",
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
const documentOf = (manifest: object, one: Packed & { readonly url: string }): unknown => ({
  name: one.name,
  "dist-tags": { latest: one.version },
  versions: {
    [one.version]: {
      ...manifest,
      dist: { tarball: `${one.url}${one.filename}`, integrity: one.integrity },
    },
  },
});
