import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { execFile, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { repositoryRoot } from "./installed.ts";

const run = promisify(execFile);

/** Files that the script reads and writes. */
const files = [
  "package.json",
  "server/package.json",
  "cli/package.json",
  "langsmith/package.json",
  "web/package.json",
  "package-lock.json",
  "CHANGELOG.md",
  "src/model/version.ts",
  "config/api/main.api.md",
  "config/api/model.api.md",
  "scripts/release.mjs",
];

/** Creates a repository with the files that the script needs, and installs its dependency `semver` in the parent folder. */
async function cloneOfFiles(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "millrace-release-"));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const folder = join(parent, "clone");
  for (const file of files) {
    await cp(join(repositoryRoot, file), join(folder, file));
  }
  await cp(join(repositoryRoot, "node_modules/semver"), join(parent, "node_modules/semver"), {
    recursive: true,
  });
  await git(folder, "init", "--quiet");
  await git(folder, "add", "--all");
  const author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  await git(folder, ...author, "commit", "--quiet", "--message", "All");
  return folder;
}

const git = (folder: string, ...args: readonly string[]) => run("git", [...args], { cwd: folder });

function release(folder: string, ...args: readonly string[]) {
  const script = join(folder, "scripts/release.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
  return { status, stderr };
}

const readJson = async (path: string): Promise<Record<string, unknown>> =>
  JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;

test("a release sets one version in packages, dependencies, lock, source and reports", async () => {
  const folder = await cloneOfFiles();
  const before = await readJson(join(folder, "package.json"));
  expect(release(folder, "99.1.2")).toEqual({ status: 0, stderr: "" });
  const cli = await readJson(join(folder, "cli/package.json"));
  expect(cli).toMatchObject({
    version: "99.1.2",
    dependencies: { millrace: "99.1.2", "@millrace/server": "99.1.2" },
  });
  for (const name of ["server", "langsmith"]) {
    const manifest = await readJson(join(folder, name, "package.json"));
    expect(manifest).toMatchObject({ version: "99.1.2", dependencies: { millrace: "99.1.2" } });
  }
  const old = `"${String(before["version"])}"`;
  for (const file of files.filter((name) => /version\.ts|api\.md/.test(name))) {
    const text = await readFile(join(folder, file), "utf8");
    expect(text).toContain('const version = "99.1.2"');
    expect(text).not.toContain(`const version = ${old}`);
  }
  // npm must not have to correct the lock file, so `npm ci` accepts it.
  const lock = await readFile(join(folder, "package-lock.json"), "utf8");
  const locking = ["install", "--package-lock-only", "--offline", "--ignore-scripts", "--no-audit"];
  await run("npm", locking, { cwd: folder });
  expect(await readFile(join(folder, "package-lock.json"), "utf8")).toBe(lock);
});

test("a release moves what is unreleased under its version, in each package's changelog", async () => {
  const folder = await cloneOfFiles();
  const before = await readFile(join(folder, "CHANGELOG.md"), "utf8");
  const [, unreleased = ""] = /## \[Unreleased\]\n([^]*?)\n## \[/.exec(before) ?? [];
  expect(unreleased).toContain("### Added");
  expect(release(folder, "99.1.2").status).toBe(0);
  const after = await readFile(join(folder, "CHANGELOG.md"), "utf8");
  expect(after).toMatch(/## \[Unreleased\]\n\n## \[99\.1\.2\] - \d{4}-\d\d-\d\d\n/);
  expect(after).toContain(unreleased);
  for (const name of ["server", "cli", "langsmith"]) {
    const text = await readFile(join(folder, name, "CHANGELOG.md"), "utf8");
    expect(text).not.toContain("[Unreleased]");
    expect(text).toContain("## [99.1.2]");
    expect(text).toContain(unreleased);
  }
  // Without unreleased changes, a release is refused.
  await git(folder, "add", "--all");
  const author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  await git(folder, ...author, "commit", "--quiet", "--message", "Release");
  expect(release(folder, "99.1.3")).toEqual({
    status: 2,
    stderr: expect.stringContaining("CHANGELOG.md has nothing under [Unreleased]") as unknown,
  });
});

test.for([
  { args: ["0.0.1"], reason: "0.0.1 is not greater than" },
  { args: ["1.0"], reason: 'expected one version such as 0.2.0, not "1.0"' },
  { args: [], reason: 'expected one version such as 0.2.0, not ""' },
])("a release of $args is refused and changes nothing", async ({ args, reason }) => {
  const folder = await cloneOfFiles();
  const { status, stderr } = release(folder, ...args);
  expect(status).toBe(2);
  expect(stderr).toContain(reason);
  expect((await git(folder, "status", "--porcelain")).stdout).toBe("");
});

test("a release is refused if a change is not committed", async () => {
  const folder = await cloneOfFiles();
  await writeFile(join(folder, "notes.txt"), "half done");
  const { status, stderr } = release(folder, "99.1.2");
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining(
      "uncommitted changes; commit them first:\n?? notes.txt",
    ) as unknown,
  });
});

test("npm publish --dry-run warns of nothing in any of the packages", async () => {
  // Replaces the real registry: it has no packages and accepts any key.
  const registry = createServer((_request, response) => response.writeHead(404).end("{}"));
  registry.listen(0, "127.0.0.1");
  await once(registry, "listening");
  onTestFinished(() => void registry.close());
  const address = `127.0.0.1:${(registry.address() as AddressInfo).port}/`;
  const home = await mkdtemp(join(tmpdir(), "millrace-publish-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const settings = `registry=http://${address}\n//${address}:_authToken=none\nupdate-notifier=false\n`;
  await writeFile(join(home, ".npmrc"), settings);
  const otherVariables = Object.entries(process.env).filter(
    ([name]) => !/^npm_config_/i.test(name),
  );
  for (const folder of ["", "server", "cli", "langsmith"]) {
    const result = await run("npm", ["publish", "--dry-run", "--ignore-scripts"], {
      cwd: join(repositoryRoot, folder),
      env: {
        ...Object.fromEntries(otherVariables),
        npm_config_userconfig: join(home, ".npmrc"),
        npm_config_globalconfig: join(home, "none"),
        NO_PROXY: "127.0.0.1",
      },
    });
    expect(result.stderr).not.toMatch(/^npm (warn|error)/im);
    expect(result.stderr).toContain("public access");
    for (const file of ["CHANGELOG.md", "LICENSE", "README.md"]) {
      expect(result.stderr).toMatch(new RegExp(`B ${file}\\n`));
    }
  }
}, 90_000);

test("each package carries the licence and the changelog of what is released", async () => {
  const licence = await readFile(join(repositoryRoot, "LICENSE"), "utf8");
  const changelog = await readFile(join(repositoryRoot, "CHANGELOG.md"), "utf8");
  const released = changelog.replace(/## \[Unreleased\]\n[^]*?(?=\n## \[)\n/, "");
  for (const name of ["server", "cli", "langsmith"]) {
    expect(await readFile(join(repositoryRoot, name, "LICENSE"), "utf8")).toBe(licence);
    expect(await readFile(join(repositoryRoot, name, "CHANGELOG.md"), "utf8")).toBe(released);
  }
});
