import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Retention } from "../../../src/features/settings/retention.tsx";

afterEach(cleanup);

beforeEach(() => {
  vi.stubGlobal("fetch", async () => Response.json([]));
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MantineProvider withCssVariables={false}>
        <Retention />
      </MantineProvider>
    </QueryClientProvider>,
  );
});

const findField = (): HTMLInputElement => screen.getByLabelText("Retention (days)");

/** Types into the field and submits the form, as the Enter key does. */
function enter(text: string): void {
  fireEvent.change(findField(), { target: { value: text } });
  fireEvent.submit(findField());
}

test.each(["1.5", "0", "-3", "1e3", "36501", ""])(
  "an entry that is not a number of days stays, is marked and deletes nothing: '%s'",
  (text) => {
    enter(text);
    expect(findField().value).toBe(text);
    expect(findField().getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText(/a whole number from 1 to 36,500/)).toBeTruthy();
    expect(screen.queryByText(/Delete runs older than/)).toBeNull();
  },
);

test.each([
  ["1", "Delete runs older than 1 day?"],
  [" 45 ", "Delete runs older than 45 days?"],
  ["36500", "Delete runs older than 36,500 days?"],
])("the question names the number of days that was typed: '%s'", (text, question) => {
  enter(text);
  expect(screen.getByText(question)).toBeTruthy();
});
