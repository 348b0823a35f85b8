// Prepares a release: `npm run release -- 0.2.0`. Sets the version wherever it is written, moves what is
// unreleased in the changelogs under it, and says what is left to do. Publishes nothing.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gt, valid } from "semver";

const usage = `Usage: npm run release -- VERSION

Sets VERSION in all packages and their dependencies on each other, in the lock, in the SDK and in the API
reports, and moves what is unreleased in CHANGELOG.md under it. Refuses a tree with uncommitted changes.
`;

const root = fileURLToPath(new URL("..", import.meta.url));
/** Folders of the packages that have the version: those that are published, and the UI. */
const folders = ["", "server", "cli", "web"];
const ours = ["millrace", "@millrace/server", "@millrace/cli"];

const readText = (path) => readFileSync(join(root, path), "utf8");
const readJson = (path) => JSON.parse(readText(path));
const writeText = (path, text) => writeFileSync(join(root, path), text);
const writeJson = (path, value) => writeText(path, `${JSON.stringify(value, undefined, 2)}\n`);

const main = () => {
  const version = readVersion();
  const { version: current } = readJson("package.json");
  refuseUnless(
    gt(version, current),
    `${version} is not above ${current}, the version of the packages`,
  );
  refuseDirtyTree();
  const changelog = releaseChangelog(readText("CHANGELOG.md"), version);

  for (const folder of folders) {
    const path = join(folder, "package.json");
    writeJson(path, withVersion(readJson(path), version));
  }
  const lock = readJson("package-lock.json");
  for (const folder of folders) {
    lock.packages[folder] = withVersion(lock.packages[folder], version);
  }
  writeJson("package-lock.json", { ...lock, version });
  for (const path of [
    "src/model/version.ts",
    "config/api/main.api.md",
    "config/api/model.api.md",
  ]) {
    writeText(
      path,
      replaceOnce(path, `const version = "${current}"`, `const version = "${version}"`),
    );
  }
  writeText("CHANGELOG.md", changelog);
  for (const folder of ["server", "cli"]) {
    writeText(`${folder}/CHANGELOG.md`, releasedPart(changelog));
  }
  console.log(`${version} is set. What is left:

  npm run check && npm run test:packages
  git commit --all --message "Release ${version}" && git tag v${version}
  npm publish && npm publish --workspace server && npm publish --workspace cli
`);
};

const readVersion = () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: "boolean", default: false } },
  });
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const [version, ...rest] = positionals;
  refuseUnless(
    rest.length === 0 && valid(version) === version && version !== undefined,
    `one version such as 0.2.0 is expected, not ${JSON.stringify(positionals.join(" "))}`,
  );
  return version;
};

const refuseDirtyTree = () => {
  const { status, stdout, stderr } = spawnSync("git", ["status", "--porcelain"], {
    cwd: root,
    encoding: "utf8",
  });
  refuseUnless(status === 0, `git can't tell whether the tree is clean: ${stderr.trim()}`);
  refuseUnless(
    stdout === "",
    `the tree has changes that are not committed; commit them first:\n${stdout}`,
  );
};

/** The manifest with the version, and with it for each of our packages that it depends on. */
const withVersion = (manifest, version) => {
  const changed = { ...manifest, version };
  for (const kind of ["dependencies", "devDependencies"]) {
    for (const name of ours) {
      // What begins with `file:` is the link of the root to itself, which has any version.
      if (/^\d/.test(changed[kind]?.[name] ?? "")) {
        changed[kind] = { ...changed[kind], [name]: version };
      }
    }
  }
  return changed;
};

/** Moves what is below `[Unreleased]` under the version and today's date. */
const releaseChangelog = (text, version) => {
  const heading = "## [Unreleased]\n";
  const [before, after] = text.split(heading);
  refuseUnless(after !== undefined, "CHANGELOG.md has no section [Unreleased]");
  const [unreleased] = after.split("\n## [");
  refuseUnless(unreleased.trim() !== "", "CHANGELOG.md has nothing under [Unreleased]");
  const date = new Date().toISOString().slice(0, 10);
  return `${before}${heading}\n## [${version}] - ${date}\n${after}`;
};

/** The changelog as the other packages carry it: what is not released is not in them. */
const releasedPart = (text) => text.replace(/## \[Unreleased\]\n[^]*?(?=\n## \[)\n/, "");

const replaceOnce = (path, from, to) => {
  const text = readText(path);
  refuseUnless(text.split(from).length === 2, `${path} has not exactly one ${from}`);
  return text.replace(from, to);
};

const refuseUnless = (holds, reason) => {
  if (!holds) {
    console.error(`release: ${reason}\n\n${usage}`);
    process.exit(2);
  }
};

main();
