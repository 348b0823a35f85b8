import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";

const require = createRequire(import.meta.url);

/**
 * Collects the licences of packages whose code a published package contains, because these licences require a notice.
 */
export const createNotices = () => {
  const texts = new Map();
  return {
    /** Adds the package that contains a bundled module. Modules of the project itself need no notice. */
    addModule: (path) => {
      const folder = packageFolderOf(path);
      if (folder !== undefined && !texts.has(folder)) {
        const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        texts.set(folder, noticeOf(manifest, licenceTextIn(folder)));
      }
    },
    /** Adds a package of which another package contains a copy. */
    add: (manifest) => {
      texts.set(manifest.name, noticeOf(manifest, undefined));
    },
    write: (path) => {
      const notices = [...new Set(texts.values())].toSorted((one, other) => (one < other ? -1 : 1));
      const head = "The files of this package contain code of the following packages.\n";
      writeFileSync(path, [head, ...notices].join(`\n${"-".repeat(80)}\n`));
    },
  };
};

/**
 * The folder of the package that contains a file. The name of the package follows the last `node_modules` in the file's
 * path.
 */
const packageFolderOf = (path) => {
  const marker = `${sep}node_modules${sep}`;
  const at = path.lastIndexOf(marker);
  if (at === -1) {
    return undefined;
  }
  const rest = path.slice(at + marker.length).split(sep);
  const name = rest.slice(0, rest[0]?.startsWith("@") ? 2 : 1);
  return join(path.slice(0, at), "node_modules", ...name);
};

const licenceTextIn = (folder) => {
  const file = readdirSync(folder).find((name) => /^licen[cs]e([.-]|$)/i.test(name));
  return file === undefined ? undefined : readFileSync(join(folder, file), "utf8").trim();
};

const noticeOf = ({ name, version, license = "MIT" }, text) =>
  `${name} ${version} (${license})\n\n${text ?? standardTextOf(license)}\n`;

/** The text of a licence by its SPDX name, for a package that contains no licence text. */
const standardTextOf = (license) =>
  require(`spdx-license-list/licenses/${license}.json`).licenseText.trim();
