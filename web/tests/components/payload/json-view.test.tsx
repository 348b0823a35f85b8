import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LocalPayload } from "../../../src/components/payload/payload-source.ts";
import type { PayloadSource } from "../../../src/components/payload/payload-source.ts";
import { JsonView } from "../../../src/components/payload/json-view.tsx";
import { pretendLayout } from "../../support/layout.ts";

beforeEach(() => pretendLayout());
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

const show = (value: unknown) =>
  render(
    <MantineProvider>
      <JsonView label="Inputs" value={value} />
    </MantineProvider>,
  );

const lines = () => screen.getAllByRole("treeitem").map(({ textContent }) => textContent);

test("a list of 100,000 items renders few lines, and the search reaches any of them", async () => {
  show({ list: Array.from({ length: 100_000 }, (_, index) => `item ${index}`) });
  expect(lines()).toEqual(["list: [100,000]"]);
  // In one step, because every text in between would be searched for, too.
  fireEvent.change(screen.getByRole("searchbox"), { target: { value: "item 77777" } });
  await screen.findByText("1 of 1", undefined, { timeout: 20_000 });
  await userEvent.click(screen.getByText("[100,000]"));
  await userEvent.click(screen.getByText("[100,000]"));
  expect(lines().length).toBeLessThan(200);
  expect(lines()[1]).toContain("item 0");
}, 30_000);

test("the arrow keys move, collapse and expand", async () => {
  show({ a: { b: 1 }, c: 2 });
  expect(lines()).toEqual(["a: {b}", "b: 1", "c: 2"]);
  screen.getByRole("tree").focus();
  await userEvent.keyboard("{ArrowLeft}");
  expect(lines()).toEqual(["a: {b}", "c: 2"]);
  await userEvent.keyboard("{ArrowRight}{ArrowDown}");
  const current = screen.getAllByRole("treeitem", { selected: true });
  expect(current.map(({ textContent }) => textContent)).toEqual(["b: 1"]);
});

test("a value with asynchronous results is shown when they arrive, and can be expanded", async () => {
  const localPayload = new LocalPayload({ a: { b: 1 } });
  const asyncPayload = new Proxy(localPayload, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function"
        ? async (...args: unknown[]) => Reflect.apply(member, target, args) as unknown
        : member;
    },
  }) as PayloadSource;
  show(asyncPayload);
  await screen.findByText("1");
  await userEvent.click(screen.getByRole("button", { name: "Collapse all" }));
  await vi.waitFor(() => expect(lines()).toEqual(["a: {b}"]));
});

test("keys and values that could reorder text or run scripts are shown as plain text", () => {
  const { container } = show({ "<b>\u202E": "<img src=x onerror=alert(1)>" });
  expect(container.querySelectorAll("img")).toHaveLength(0);
  expect(lines()).toEqual([String.raw`<b>\u202e: <img src=x onerror=alert(1)>`]);
});
