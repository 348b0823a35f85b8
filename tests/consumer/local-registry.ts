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

/** The packages that are published, by their folders. */
const publishedFolders = [".", "server", "cli"] as const;

/** A registry on this machine that has our three packages as they would be published. */
export interface LocalRegistry extends AsyncDisposable {
  readonly version: string;
  /** What has npm use this registry, and the settings of this machine whichever Node it runs on. */
  readonly environment: NodeJS.ProcessEnv;
}

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly filename: string;
  readonly integrity: string;
}

/**
 * Packs the three packages and serves them to npm; for any other package it sends npm on to the registry
 * that is configured. So what a user types can be run as it stands. Needs a build.
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

/** The package.json in a tarball: that of the folder may hold what is not published. */
async function readManifest(tarball: string): Promise<object> {
  const { stdout } = await run("tar", ["-xzOf", tarball, "package/package.json"]);
  return JSON.parse(stdout) as object;
}

/** What a registry answers about a package. */
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
