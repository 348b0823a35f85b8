import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useTenantId } from "../../api/use-tenant-id.ts";
import type { Command } from "../../components/keyboard/commands.ts";

/** What can be done from everywhere: go to a screen, change the colours. */
export function useScreens(): readonly Command[] {
  const navigate = useNavigate();
  const tenantId = useTenantId();
  const { setColorScheme } = useMantineColorScheme();
  return useMemo(() => {
    const screen = (label: string, keys: string, run: () => unknown): Command => ({
      id: `screen ${label}`,
      label,
      group: "Screens",
      keys,
      run,
    });
    const scheme = (label: string, value: "light" | "dark" | "auto"): Command => ({
      id: `colours ${value}`,
      label,
      group: "Colours",
      run: () => setColorScheme(value),
    });
    const params = { tenantId: tenantId ?? "" };
    const ofTenant: readonly Command[] =
      tenantId === undefined
        ? []
        : [
            screen("Projects", "g p", () => navigate({ to: "/o/$tenantId/projects", params })),
            screen("Datasets", "g d", () => navigate({ to: "/o/$tenantId/datasets", params })),
            screen("Annotation queues", "g q", () =>
              navigate({ to: "/o/$tenantId/annotation-queues", params }),
            ),
            screen("Feedback", "g f", () => navigate({ to: "/o/$tenantId/feedback", params })),
            screen("Settings", "g s", () => navigate({ to: "/o/$tenantId/settings", params })),
          ];
    return [
      screen("Home", "g h", () => navigate({ to: "/" })),
      ...ofTenant,
      screen("Prompts", "g m", () => navigate({ to: "/prompts" })),
      screen("Public prompts", "g u", () => navigate({ to: "/hub" })),
      scheme("Light colours", "light"),
      scheme("Dark colours", "dark"),
      scheme("Colours of the system", "auto"),
    ];
  }, [navigate, tenantId, setColorScheme]);
}
