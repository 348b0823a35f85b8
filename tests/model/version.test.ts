import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { version } from "../../src/model/version.ts";

test.each(["package.json", "server/package.json", "cli/package.json"])(
  "the version in the code is that of %s",
  (path) => {
    const root = new URL("../../", import.meta.url);
    expect(JSON.parse(readFileSync(new URL(path, root), "utf8"))).toMatchObject({ version });
  },
);
