// Writes the JavaScript of SDK, server and command for a clone of the repository, because their threads can't load
// TypeScript on the oldest supported Node. It neither checks nor writes types, and skips modules that are newer than
// their source, so it takes only a second or two. `npm run build` writes the files that are published.
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "rolldown/utils";
import { bundleServer, isServerEntry } from "../server/bundle.mjs";
import { bundleSdk, isSdkEntry } from "./bundle.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Writes every module that is missing or older than its source. Resolves to whether anything was written. */
export const transpile = async () => {
  const written =
    transpileFolder({ from: "src", to: "dist", isBundled: isSdkEntry }) +
    transpileFolder({ from: "server/src", to: "server/dist", isBundled: isServerEntry }) +
    transpileFolder({ from: "cli/src", to: "cli/dist" }) +
    transpileFolder({ from: "langsmith/src", to: "langsmith/dist" }) +
    transpileFolder({ from: "examples/ask-the-docs", to: "examples/ask-the-docs/dist" });
  const isSdkStale = isBundleStale("src", "dist", isSdkEntry);
  if (isSdkStale) {
    await bundleSdk();
  }
  // The bundle contains parts of the SDK.
  const isServerStale = isSdkStale || isBundleStale("server/src", "server/dist", isServerEntry);
  if (isServerStale) {
    await bundleServer({ isPublished: false });
  }
  return isSdkStale || isServerStale || written > 0;
};

/** Whether any source in a folder is newer than one of the folder's bundles. */
const isBundleStale = (from, to, isBundled) => {
  const sources = namesIn(from);
  const bundles = sources.filter(isBundled).map((name) => mtimeOf(join(to, toJs(name))));
  return Math.max(...sources.map((name) => mtimeOf(join(from, name)))) > Math.min(...bundles);
};

/** Writes a module for each source, and removes modules without a source. Returns the number of modules written. */
const transpileFolder = ({ from, to, isBundled = () => false }) => {
  const sources = namesIn(from).filter((name) => /(?<!\.d)\.ts$/.test(name));
  const stale = sources.filter((name) => {
    const target = join(to, toJs(name));
    return !isBundled(name) && mtimeOf(target) < mtimeOf(join(from, name));
  });
  for (const name of stale) {
    const target = join(root, to, toJs(name));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transpileFile(join(root, from, name)));
  }
  const modules = new Set(sources.map(toJs));
  for (const name of namesIn(to)) {
    const isAsset = /^(web|api-docs|chunks)\//.test(name);
    if (name.endsWith(".js") && !isAsset && !modules.has(name)) {
      rmSync(join(root, to, name));
    }
  }
  return stale.length;
};

const transpileFile = (path) => {
  const { code, errors } = transformSync(path, readFileSync(path, "utf8"), {
    target: "es2023",
    typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: "rewrite" },
  });
  if (errors.length > 0) {
    throw new Error(`${path}: ${errors.map(({ message }) => message).join("; ")}`);
  }
  return code;
};

const toJs = (name) => name.replace(/\.ts$/, ".js");

/** Names of the files below a folder, except built files. The list is empty if the folder does not exist. */
const namesIn = (folder) => {
  const isThere = statSync(join(root, folder), { throwIfNoEntry: false }) !== undefined;
  const names = isThere ? readdirSync(join(root, folder), { recursive: true }) : [];
  return names.filter((name) => !/(^|\/)(node_modules|dist|tests)\//.test(name));
};

/** Returns when a file was written, in milliseconds since the epoch, or 0 if it does not exist. */
const mtimeOf = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await transpile();
}
