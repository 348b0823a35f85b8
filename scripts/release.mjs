// Prepares a release: `npm run release -- 0.2.0`. It sets the version in all files, moves the unreleased entries of the
// changelogs under it, and prints the remaining steps. It publishes nothing.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gt, valid } from "semver";

const usage = `Usage: npm run release -- VERSION

Sets VERSION in all packages and their dependencies on each other, in the lock file, in the SDK and in the API
reports, and moves the unreleased entries of CHANGELOG.md under it. Fails if the working tree has uncommitted changes.
`;

const root = fileURLToPath(new URL("..", import.meta.url));
/** Folders of the packages with this version: the published ones, and the UI. */
const folders = ["", "server", "cli", "langsmith", "web"];
const packageNames = ["millrace", "@millrace/server", "@millrace/cli", "@millrace/langsmith"];

const readText = (path) => readFileSync(join(root, path), "utf8");
const readJson = (path) => JSON.parse(readText(path));
const writeText = (path, text) => writeFileSync(join(root, path), text);
const writeJson = (path, value) => writeText(path, `${JSON.stringify(value, undefined, 2)}\n`);

const main = () => {
  const version = readVersion();
  const { version: current } = readJson("package.json");
  assertOrExit(
    gt(version, current),
    `${version} is not greater than ${current}, the current version of the packages`,
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
  for (const folder of ["server", "cli", "langsmith"]) {
    writeText(`${folder}/CHANGELOG.md`, removeUnreleased(changelog));
  }
  console.log(`The version is set to ${version}. Next steps:

  npm run check && npm run test:packages
  git commit --all --message "Release ${version}" && git tag v${version}
  npm publish && npm publish --workspace server && npm publish --workspace cli && npm publish --workspace langsmith
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
  const [version, ...extraArguments] = positionals;
  assertOrExit(
    extraArguments.length === 0 && valid(version) === version && version !== undefined,
    `expected one version such as 0.2.0, not ${JSON.stringify(positionals.join(" "))}`,
  );
  return version;
};

const refuseDirtyTree = () => {
  const { status, stdout, stderr } = spawnSync("git", ["status", "--porcelain"], {
    cwd: root,
    encoding: "utf8",
  });
  assertOrExit(status === 0, `git status failed: ${stderr.trim()}`);
  assertOrExit(
    stdout === "",
    `the working tree has uncommitted changes; commit them first:\n${stdout}`,
  );
};

/** Returns the manifest with the new version, also for its dependencies on packages of this project. */
const withVersion = (manifest, version) => {
  const changed = { ...manifest, version };
  for (const kind of ["dependencies", "devDependencies"]) {
    for (const name of packageNames) {
      // Skip a dependency that begins with `file:`: the link of the root package to itself.
      if (/^\d/.test(changed[kind]?.[name] ?? "")) {
        changed[kind] = { ...changed[kind], [name]: version };
      }
    }
  }
  return changed;
};

/** Moves the entries below `[Unreleased]` to a new section for the version with today's date. */
const releaseChangelog = (text, version) => {
  const heading = "## [Unreleased]\n";
  const [before, after] = text.split(heading);
  assertOrExit(after !== undefined, "CHANGELOG.md has no section [Unreleased]");
  const [unreleased] = after.split("\n## [");
  assertOrExit(unreleased.trim() !== "", "CHANGELOG.md has nothing under [Unreleased]");
  const date = new Date().toISOString().slice(0, 10);
  return `${before}${heading}\n## [${version}] - ${date}\n${after}`;
};

/** The changelog for the other packages, without the section `[Unreleased]`. */
const removeUnreleased = (text) => text.replace(/## \[Unreleased\]\n[^]*?(?=\n## \[)\n/, "");

const replaceOnce = (path, from, to) => {
  const text = readText(path);
  assertOrExit(text.split(from).length === 2, `${path} has not exactly one ${from}`);
  return text.replace(from, to);
};

const assertOrExit = (condition, reason) => {
  if (!condition) {
    console.error(`release: ${reason}\n\n${usage}`);
    process.exit(2);
  }
};

main();
