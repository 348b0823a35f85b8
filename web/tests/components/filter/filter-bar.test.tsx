import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FilterBar } from "../../../src/components/filter/filter-bar.tsx";
import { mergeLaterFilter } from "../../../src/components/filter/filter-conditions.ts";
import { Suggestions } from "../../../src/components/filter/filter-suggestions.tsx";
import { filterWords } from "../../support/filter-words.ts";

const fault = { reason: "unknown field `nam`, did you mean `name`?", offset: 3, length: 3 };

/** Stands for the server, which returns each filter as functions. */
function toFunctions(body: string): string {
  const { filter } = JSON.parse(body) as { filter: string };
  return filter.includes("(") ? filter : `search(${JSON.stringify(filter)})`;
}

beforeEach(() => {
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (path.endsWith("/words")) {
      return Response.json({ runs: filterWords, examples: filterWords });
    }
    const body = typeof init.body === "string" ? init.body : "{}";
    return Response.json(
      body.includes("nam,")
        ? { fault, functions: null }
        : { fault: null, functions: toFunctions(body) },
    );
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const Bar = ({ first = "", onApply }: { first?: string; onApply?: (filter: string) => void }) => {
  const [filter, setFilter] = useState(first);
  return (
    <QueryClientProvider client={new QueryClient()}>
      <FilterBar
        resource="runs"
        value={filter}
        onApply={(next) => {
          setFilter(next);
          onApply?.(next);
        }}
        readValues={async ({ kind, prefix }) => [`${kind}-of-${prefix}`]}
      />
    </QueryClientProvider>
  );
};

const input = () => screen.getByRole<HTMLInputElement>("combobox");

function type(text: string): void {
  fireEvent.change(input(), { target: { value: text, selectionStart: text.length } });
}

test("the arrows move through the suggestions; Enter accepts one, and then applies the filter", async () => {
  const onApply = vi.fn<(filter: string) => void>();
  render(<Bar onApply={onApply} />);
  type('eq(status, "e');
  await screen.findByRole("option", { name: /"error"/ });
  fireEvent.keyDown(input(), { key: "ArrowDown" });
  expect(input().getAttribute("aria-activedescendant")).toBe(
    screen.getByRole("option", { name: /"error"/ }).id,
  );
  fireEvent.keyDown(input(), { key: "Enter" });
  expect(input().value).toBe('eq(status, "error")');
  expect(onApply).not.toHaveBeenCalled();
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() => expect(onApply).toHaveBeenCalledWith('eq(status, "error")'));
  expect(input().value).toBe("");
  expect(screen.getByRole("button", { name: "Edit status = error" })).toBeTruthy();
});

test("what a description has in backticks is shown as code", () => {
  render(
    <Suggestions
      id="s"
      suggestions={[
        { label: "status = …", detail: "`pending` until it has ended.", insertedText: "status = " },
        { label: "a", detail: "An odd ` mark.", insertedText: "a" },
      ]}
      activeIndex={0}
      onSelect={() => undefined}
    />,
  );
  const [first, second] = screen.getAllByRole("option");
  expect(first?.textContent).toBe("status = …pending until it has ended.");
  expect(first?.querySelector("span code")?.textContent).toBe("pending");
  expect(second?.textContent).toBe("aAn odd ` mark.");
});

test("a word is added to the conditions as a search", async () => {
  const onApply = vi.fn<(filter: string) => void>();
  render(<Bar first="gt(latency, 5)" onApply={onApply} />);
  type("refund");
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() =>
    expect(onApply).toHaveBeenCalledWith('and(gt(latency, 5), search("refund"))'),
  );
  screen.getByRole("button", { name: 'Remove "refund"' });
});

test("what is chosen while the server checks a filter stays, and wins where both concern one field", async () => {
  const checks: (() => void)[] = [];
  const { fetch: respond } = globalThis;
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (path.endsWith("/check")) {
      await new Promise<void>((resolve) => {
        checks.push(resolve);
      });
    }
    return respond(path, init);
  });
  const onApply = vi.fn<(filter: string) => void>();
  const Chosen = () => {
    const [filter, setFilter] = useState("gt(latency, 5)");
    const apply = (next: string): void => {
      setFilter(next);
      onApply(next);
    };
    const choose = (): void => apply('and(gt(latency, 5), eq(status, "error"))');
    return (
      <QueryClientProvider client={new QueryClient()}>
        <FilterBar resource="runs" value={filter} onApply={apply}>
          <button onClick={choose}>Choose errors</button>
        </FilterBar>
      </QueryClientProvider>
    );
  };
  const answerChecks = (): void => checks.splice(0).forEach((answer) => answer());
  render(<Chosen />);
  type("refund");
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() => expect(checks.length).toBeGreaterThan(0));
  fireEvent.click(screen.getByRole("button", { name: "Choose errors" }));
  answerChecks();
  await waitFor(() =>
    expect(onApply).toHaveBeenLastCalledWith(
      'and(gt(latency, 5), eq(status, "error"), search("refund"))',
    ),
  );
  type('eq(status, "pending")');
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() => expect(checks.length).toBeGreaterThan(0));
  fireEvent.click(screen.getByRole("button", { name: "Clear filter" }));
  answerChecks();
  await waitFor(() => expect(input().value).toBe(""));
  expect(onApply).toHaveBeenLastCalledWith("");
  cleanup();
});

test("the later of two changes of a filter wins, and keeps what the other added", () => {
  const base = 'and(gt(latency, 5), eq(status, "error"))';
  const merge = (applied: string, later: string): string =>
    mergeLaterFilter({ base, applied, later });
  expect(merge('and(gt(latency, 5), eq(status, "pending"))', base)).toBe(
    'and(gt(latency, 5), eq(status, "pending"))',
  );
  expect(
    merge(
      'and(gt(latency, 5), eq(status, "pending"))',
      'and(gt(latency, 5), eq(status, "success"))',
    ),
  ).toBe('and(gt(latency, 5), eq(status, "success"))');
  expect(merge(`and(gt(latency, 5), eq(status, "error"), search("x"))`, "gt(latency, 5)")).toBe(
    'and(gt(latency, 5), search("x"))',
  );
  expect(merge(`and(gt(latency, 5), eq(status, "error"), search("x"))`, "")).toBe("");
});

test("what is invalid is not applied, however often Enter is pressed", async () => {
  const onApply = vi.fn<(filter: string) => void>();
  render(<Bar first="gt(latency, 5)" onApply={onApply} />);
  type('eq(nam, "a")');
  fireEvent.keyDown(input(), { key: "Enter" });
  fireEvent.keyDown(input(), { key: "Enter" });
  await screen.findByRole("alert");
  expect(screen.getAllByRole("alert")).toHaveLength(1);
  expect(onApply).not.toHaveBeenCalled();
  expect(input().value).toBe('eq(nam, "a")');
});

test("a chip can be edited in place, by a click or with Backspace", async () => {
  const onApply = vi.fn<(filter: string) => void>();
  render(<Bar first={'and(eq(status, "error"), gt(latency, 5))'} onApply={onApply} />);
  fireEvent.click(screen.getByRole("button", { name: "Edit status = error" }));
  expect(input().value).toBe("status = error");
  expect(screen.queryByRole("button", { name: "Edit status = error" })).toBeNull();
  type('eq(status, "pending")');
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() =>
    expect(onApply).toHaveBeenCalledWith('and(eq(status, "pending"), gt(latency, 5))'),
  );
  fireEvent.keyDown(input(), { key: "Backspace" });
  expect(input().value).toBe("latency > 5");
  type("");
  fireEvent.keyDown(input(), { key: "Enter" });
  await waitFor(() => expect(onApply).toHaveBeenCalledWith('eq(status, "pending")'));
});

test("the fields are suggested for what is typed first, with an operator", async () => {
  render(<Bar />);
  type("late");
  fireEvent.pointerDown(await screen.findByRole("option", { name: /^latency > …/ }));
  expect(input().value).toBe("latency > ");
});

test("values that occur in runs are requested for the typed text", async () => {
  render(<Bar />);
  type('has(tags, "');
  expect(await screen.findByRole("option", { name: "tag-of-" })).toBeTruthy();
  type("eq(metadata.");
  expect(await screen.findByRole("option", { name: "metadata_key-of-" })).toBeTruthy();
});

test("an error is marked under its characters and described", async () => {
  render(<Bar />);
  type('eq(nam, "a")');
  expect((await screen.findByRole("alert")).textContent).toContain("did you mean `name`?");
  expect(document.querySelector(".filter-mirror mark")?.textContent).toBe("nam");
  expect(input().getAttribute("aria-invalid")).toBe("true");
  type('eq(name, "a")');
  await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
});

test("what is not finished is an error only after Enter", async () => {
  const { fetch: respond } = globalThis;
  const reason = "expected a value, found the end of the filter";
  const checked: string[] = [];
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    if (!path.endsWith("/check")) {
      return respond(path, init);
    }
    checked.push(typeof init.body === "string" ? init.body : "");
    return Response.json({ fault: { reason, offset: 6, length: 1 }, functions: null });
  });
  render(<Bar />);
  type("name = ");
  await waitFor(() => expect(checked).toHaveLength(1));
  expect(screen.queryByRole("alert")).toBeNull();
  fireEvent.keyDown(input(), { key: "Enter" });
  expect((await screen.findByRole("alert")).textContent).toBe(reason);
});

test("each condition is a chip, and removing it keeps the others", () => {
  const onApply = vi.fn<(filter: string) => void>();
  render(<Bar first={'and(eq(status, "error"), gt(latency, 5))'} onApply={onApply} />);
  fireEvent.click(screen.getByRole("button", { name: "Remove status = error" }));
  expect(onApply).toHaveBeenCalledWith("gt(latency, 5)");
  expect(screen.queryByRole("button", { name: "Edit status = error" })).toBeNull();
});

test("Escape closes the suggestions, and then discards the edit", async () => {
  render(<Bar first="gt(latency, 5)" />);
  type("gt(latency, 5");
  expect(screen.queryAllByRole("option")).toEqual([]);
  fireEvent.keyDown(input(), { key: "Escape" });
  fireEvent.keyDown(input(), { key: "Escape" });
  expect(input().value).toBe("");
  screen.getByRole("button", { name: "Edit latency > 5" });
});
