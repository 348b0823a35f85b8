import { expect } from "vitest";
import type { Story } from "./story-context.ts";

export const tellTenant: Story = async ({ client, checkEffect }) => {
  await client.tenant.setHandle("mill");
  const settings = await client.tenant.settings();
  await checkEffect(() => {
    expect(settings.handle).toBe("mill");
  });
};
