import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore, useMemo } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { onActions, readActions } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { KeySequence, takesText, toStroke } from "../../components/keyboard/shortcut.ts";
import { Palette } from "./palette.tsx";
import { ShortcutList, paletteKeys } from "./shortcut-list.tsx";

/** The command palette, the map of keys, and the keys themselves. */
export const Keyboard = () => {
  const [open, setOpen] = useState<"palette" | "keys">();
  const screens = useScreens();
  const actions = useSyncExternalStore(onActions, readActions);
  const commands = [...actions, ...screens];
  const strokes = useRef(new KeySequence(["g"]));
  const close = (): void => setOpen(undefined);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const stroke = toStroke(event);
    if (stroke === undefined || event.defaultPrevented) {
      return;
    }
    if (stroke === "mod+k") {
      event.preventDefault();
      setOpen("palette");
      return;
    }
    const isBusy = document.querySelector("dialog[open]") !== null;
    if (stroke.startsWith("mod+") || isBusy || takesText(document.activeElement)) {
      return;
    }
    const keys = strokes.current.press(stroke, event.timeStamp);
    const command = commands.find((one) => one.keys === keys);
    if (keys === "?") {
      setOpen("keys");
    } else if (keys !== undefined && command?.run !== undefined) {
      event.preventDefault();
      void command.run();
    }
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onKey(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return (
    <>
      <button
        type="button"
        className="palette-open"
        aria-label={`Go to ${paletteKeys}`}
        onClick={() => setOpen("palette")}
      >
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2ZM10.6 10.6 14 14" />
        </svg>
        <span className="palette-hint">Go to</span>{" "}
        <kbd className="palette-hint">{paletteKeys}</kbd>
      </button>
      {open === "palette" && <Palette commands={commands} onClose={close} />}
      {open === "keys" && <ShortcutList commands={commands} onClose={close} />}
    </>
  );
};

/** What can be done from everywhere: go to a screen, change the colours. */
function useScreens(): readonly Command[] {
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
