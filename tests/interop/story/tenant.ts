import { expect } from "vitest";
import type { Story } from "./world.ts";

export const tellTenant: Story = async ({ client, effect }) => {
  await client.tenant.setHandle("mill");
  const settings = await client.tenant.settings();
  await effect(() => {
    expect(settings.handle).toBe("mill");
  });
};
