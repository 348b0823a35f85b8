import { expect, test } from "vitest";
import { toEndpointPath } from "../../src/api/endpoint-path.ts";

test("each parameter of a path is encoded and inserted", () => {
  const address = { owner: "-", repo: "a/b:c$&" };
  expect(toEndpointPath("/repos/:owner/:repo/tags/:tag", { ...address, tag: ":repo" })).toBe(
    "/repos/-/a%2Fb%3Ac%24%26/tags/%3Arepo",
  );
  expect(toEndpointPath("/info")).toBe("/info");
});
