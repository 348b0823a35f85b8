// Builds what is not built: for `npm start`, and for `npx millrace` in a clone.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

/** In the order in which they need each other. A folder without sources is not there yet. */
const projects = [
  { name: "SDK", folder: ".", from: ["src", "tsconfig.build.json"], to: "dist/main/index.js" },
  {
    name: "server",
    folder: "server",
    from: ["src", "package.json", "rolldown.config.ts", "tsconfig.build.json"],
    // What the script `bundle` writes last.
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
 * Builds each of these unless what it makes last is newer than all that it is made from. Ends the
 * process where one does not build.
 */
export const buildStale = (names) => {
  for (const project of projects.filter(({ name }) => names.includes(name))) {
    if (isStale(project)) {
      build(project);
    }
  }
};

const isStale = ({ folder, from, to }) => {
  const home = join(root, folder);
  const built = statSync(join(home, to), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return built < Math.max(...from.map((source) => newestMtimeMs(join(home, source))));
};

/** Reports on stderr: the output of the command that needed the build stays its own. */
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

/** When a file, or the newest file below a folder, was written; 0 where there is none. */
const newestMtimeMs = (path) => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) {
    return stats?.mtimeMs ?? 0;
  }
  return readdirSync(path)
    .filter((name) => name !== "dist" && name !== "node_modules")
    .reduce((newest, name) => Math.max(newest, newestMtimeMs(join(path, name))), 0);
};
