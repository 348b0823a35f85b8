import { expect, test } from "vitest";
import { findCommands } from "../../../src/components/keyboard/commands.ts";
import type { Command } from "../../../src/components/keyboard/commands.ts";
import { KeySequence, toStroke } from "../../../src/components/keyboard/shortcut.ts";

const command = (label: string, group = "Pages"): Command => ({
  id: label,
  label,
  group,
  run: () => undefined,
});
const commands = [
  command("Open settings"),
  command("Settings"),
  command("Datasets"),
  command("x", "Settings"),
];

test("labels that begin with the text come first, then labels that contain it, then groups", () => {
  expect(findCommands(commands, "SET").map(({ id }) => id)).toEqual([
    "Settings",
    "Open settings",
    "Datasets",
    "x",
  ]);
  expect(findCommands(commands, "set open").map(({ id }) => id)).toEqual(["Open settings"]);
  expect(findCommands(commands, " ")).toHaveLength(4);
  expect(findCommands(commands, "nothing")).toEqual([]);
});

test("a command that the view handles itself is not in the results", () => {
  const key: Command = { id: "open", label: "Open the row", group: "This page", keys: "Enter" };
  expect(findCommands([key, ...commands], "open").map(({ id }) => id)).toEqual(["Open settings"]);
});

const press = (key: string, parts: object = {}) =>
  toStroke({ key, ctrlKey: false, metaKey: false, altKey: false, ...parts });

test("a stroke is a single character, optionally with Ctrl or Cmd; other keys are ignored", () => {
  expect(press("?")).toBe("?");
  expect(press("K", { ctrlKey: true })).toBe("mod+k");
  expect(press("k", { metaKey: true })).toBe("mod+k");
  expect(press("k", { altKey: true })).toBeUndefined();
  expect(press("Enter")).toBeUndefined();
});

test("two strokes form a sequence if the second comes in time", () => {
  const strokes = new KeySequence(["g"]);
  expect(strokes.press("g", 0)).toBeUndefined();
  expect(strokes.press("h", 1_000)).toBe("g h");
  expect(strokes.press("h", 1_100)).toBe("h");
  expect(strokes.press("g", 2_000)).toBeUndefined();
  expect(strokes.press("h", 9_000)).toBe("h");
});
