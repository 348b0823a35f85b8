import { expect } from "vitest";
import type { Story } from "./story-context.ts";

/** No other tenant of the server may have it, and the suite may run several times against the same server. */
export const tenantHandle = `mill-${crypto.randomUUID().slice(0, 8)}`;

export const tellTenant: Story = async ({ client, checkEffect }) => {
  await client.tenant.setHandle(tenantHandle);
  const settings = await client.tenant.settings();
  await checkEffect(() => {
    expect(settings.handle).toBe(tenantHandle);
  });
};
