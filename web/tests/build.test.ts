import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("../../server/dist/web", import.meta.url));
const html = readFileSync(`${folder}/index.html`, "utf8");

/** The scripts that load before the UI shows anything: those in index.html and their static imports. */
function initialScripts(): readonly string[] {
  const scripts = [...html.matchAll(/(?:src|href)="\.(\/assets\/[^"]+\.js)"/g)].map(
    ([, path]) => path!,
  );
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

test("index.html refers to no other host and contains nothing inline", () => {
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
});
