import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("../../server/dist/web", import.meta.url));
const html = readFileSync(`${folder}/index.html`, "utf8");

/** These scripts and all that they import statically. */
function withImports(scripts: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (!seen.has(path)) {
      seen.add(path);
      const code = readFileSync(folder + path, "utf8");
      // Matches `import … from "./x.js"` and `import "./x.js"`, but not the dynamic `import("./x.js")`.
      for (const [, name] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
        visit(`/assets/${name}`);
      }
    }
  };
  scripts.forEach(visit);
  return [...seen];
}

/** The scripts that load before the UI shows anything: those in index.html and their static imports. */
const initialScripts = (): readonly string[] =>
  withImports(
    [...html.matchAll(/(?:src|href)="\.(\/assets\/[^"]+\.js)"/g)].map(([, path]) => path!),
  );

test("the initial scripts are at most 140 kB, gzipped", () => {
  const scripts = initialScripts();
  expect(scripts.length).toBeGreaterThan(0);
  const bytes = scripts.reduce(
    (sum, path) => sum + gzipSync(readFileSync(folder + path), { level: 9 }).length,
    0,
  );
  expect(bytes).toBeLessThanOrEqual(140_000);
  // An inline script would bypass the limit above.
  expect(html).not.toMatch(/<script(?![^>]*src=)/);
});

test("the page of a project loads at most 25 scripts besides the initial one", () => {
  const initial = initialScripts();
  expect(initial).toHaveLength(1);
  const page = readdirSync(`${folder}/assets`).filter((name) => /^project-page-.*\.js$/.test(name));
  const scripts = withImports(page.map((name) => `/assets/${name}`));
  expect(scripts.length).toBeGreaterThan(5);
  expect(scripts.filter((path) => !initial.includes(path)).length).toBeLessThanOrEqual(25);
});

test("index.html refers to no other host and contains nothing inline", () => {
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
});
