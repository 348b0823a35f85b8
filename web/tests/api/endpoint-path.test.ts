import { expect, test } from "vitest";
import { endpointPath } from "../../src/api/endpoint-path.ts";

test("each parameter of a path is encoded and inserted", () => {
  const address = { owner: "-", repo: "a/b:c$&" };
  expect(endpointPath("/repos/:owner/:repo/tags/:tag", { ...address, tag: ":repo" })).toBe(
    "/repos/-/a%2Fb%3Ac%24%26/tags/%3Arepo",
  );
  expect(endpointPath("/info")).toBe("/info");
});
