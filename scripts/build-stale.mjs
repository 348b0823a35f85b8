// Builds the projects whose output is missing or outdated: for `npm start`, and for `npx millrace` in a clone.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

/** The projects in the order in which they depend on each other. */
const projects = [
  { name: "SDK", folder: ".", from: ["src", "tsconfig.build.json"], to: "dist/main/index.js" },
  {
    name: "server",
    folder: "server",
    from: ["src", "package.json", "rolldown.config.ts", "tsconfig.build.json"],
    // The last file that the script `bundle` writes.
    to: "dist/THIRD-PARTY-LICENSES.txt",
    script: "bundle",
  },
  { name: "command", folder: "cli", from: ["src", "tsconfig.build.json"], to: "dist/millrace.js" },
  {
    name: "example",
    folder: "examples/ask-the-docs",
    from: ["."],
    to: "dist/main.js",
    config: "tsconfig.json",
  },
  {
    name: "web interface",
    folder: "web",
    from: ["src", "public", "index.html", "package.json", "vite.config.ts"],
    to: "../server/dist/web/index.html",
    config: undefined,
    script: "build",
  },
];

/**
 * Builds each named project unless its last output file is newer than all of its sources. Ends the process if a build
 * fails.
 */
export const buildStale = (names) => {
  for (const project of projects.filter(({ name }) => names.includes(name))) {
    if (isStale(project)) {
      build(project);
    }
  }
};

const isStale = ({ folder, from, to }) => {
  const projectFolder = join(root, folder);
  const outputMtimeMs = statSync(join(projectFolder, to), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return (
    outputMtimeMs < Math.max(...from.map((source) => newestMtimeMs(join(projectFolder, source))))
  );
};

/** Builds a project. It reports to stderr, because stdout belongs to the command that needed the build. */
const build = (project) => {
  const { name, folder, script } = project;
  const config = "config" in project ? project.config : "tsconfig.build.json";
  const cwd = join(root, folder);
  process.stderr.write(`Building the ${name} … `);
  const start = performance.now();
  if (config !== undefined) {
    run(process.execPath, [tsc, "-p", config], { cwd });
  }
  if (script !== undefined) {
    run("npm", ["run", script], { cwd, shell: true });
  }
  process.stderr.write(`${((performance.now() - start) / 1_000).toFixed(1)} s\n`);
};

const run = (command, args, options) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) {
    process.stderr.write(`failed.\n${stdout}${stderr}`);
    process.exit(1);
  }
};

/** Modification time of a file, or of the newest file in a folder; 0 if there is none. */
const newestMtimeMs = (path) => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) {
    return stats?.mtimeMs ?? 0;
  }
  return readdirSync(path)
    .filter((name) => name !== "dist" && name !== "node_modules")
    .reduce((newest, name) => Math.max(newest, newestMtimeMs(join(path, name))), 0);
};
