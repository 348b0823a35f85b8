import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";

const require = createRequire(import.meta.url);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** Names the packages whose code is in the server's files, with their licences, as these demand. */
export class ThirdPartyNotices {
  readonly #texts = new Map<string, string>();

  /** Takes the package that a bundled module comes from; ours needs no notice. */
  addModule(path: string): void {
    const folder = packageFolderOf(path);
    if (folder !== undefined && !this.#texts.has(folder)) {
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
      this.#texts.set(folder, noticeOf(manifest, licenceTextIn(folder)));
    }
  }

  /** Takes files that were copied from elsewhere than a package of their own. */
  add(manifest: Manifest): void {
    this.#texts.set(manifest.name, noticeOf(manifest, undefined));
  }

  write(path: string): void {
    const notices = [...new Set(this.#texts.values())].toSorted();
    const head = "The files of this package contain code of the following packages.\n";
    writeFileSync(path, [head, ...notices].join(`\n${"-".repeat(80)}\n`));
  }
}

/** The folder of the package that holds a file: the last `node_modules` of its path says where. */
function packageFolderOf(path: string): string | undefined {
  const marker = `${sep}node_modules${sep}`;
  const at = path.lastIndexOf(marker);
  if (at === -1) {
    return undefined;
  }
  const rest = path.slice(at + marker.length).split(sep);
  const name = rest.slice(0, rest[0]?.startsWith("@") ? 2 : 1);
  return join(path.slice(0, at), "node_modules", ...name);
}

const licenceTextIn = (folder: string): string | undefined => {
  const file = readdirSync(folder).find((name) => /^licen[cs]e([.-]|$)/i.test(name));
  return file === undefined ? undefined : readFileSync(join(folder, file), "utf8").trim();
};

function noticeOf({ name, version, license = "MIT" }: Manifest, text?: string): string {
  return `${name} ${version} (${license})\n\n${text ?? standardTextOf(license)}\n`;
}

/** The text of a licence by its SPDX name, for a package that ships none. */
function standardTextOf(license: string): string {
  const { licenseText } = require(`spdx-license-list/licenses/${license}.json`) as {
    readonly licenseText: string;
  };
  return licenseText.trim();
}
