import { expect, test } from "vitest";
import { parseTenantId } from "../../src/api/access.ts";

const id = "0a1b2c3d-0000-4000-8000-000000000000";

test.each([
  [`/o/${id}/projects/p/x`, "", id],
  ["/prompts/greeting", `?organizationId=${id}`, id],
  ["/o/default/projects", "", undefined],
  ["/", "?organizationId=<b>", undefined],
  [`/hub/o/${id}`, "", undefined],
])("the tenant id in %s%s is %s", (pathname, search, tenant) => {
  expect(parseTenantId(pathname, search)).toBe(tenant);
});
