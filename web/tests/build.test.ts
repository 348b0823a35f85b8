import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL("../../server/dist/web", import.meta.url));
const html = readFileSync(`${folder}/index.html`, "utf8");

/** What the page loads before it shows anything: the scripts it names, and what those import at once. */
function initialScripts(): readonly string[] {
  const named = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(
    ([, path]) => path!,
  );
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (!seen.has(path)) {
      seen.add(path);
      const code = readFileSync(folder + path, "utf8");
      // `import … from "./x.js"` and `import "./x.js"`, not `import("./x.js")`.
      for (const [, name] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
        visit(`/assets/${name}`);
      }
    }
  };
  named.forEach(visit);
  return [...seen];
}

test("the scripts that the page begins with are 300 kB at most, gzipped", () => {
  const scripts = initialScripts();
  expect(scripts.length).toBeGreaterThan(0);
  const bytes = scripts.reduce(
    (sum, path) => sum + gzipSync(readFileSync(folder + path)).length,
    0,
  );
  expect(bytes).toBeLessThanOrEqual(300_000);
  // All of it in one file would be no split by route.
  expect(html).not.toMatch(/<script(?![^>]*src=)/);
});

test("the page names nothing of another host, and nothing inline", () => {
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/);
});
