import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RuleForm } from "../../../src/features/rules/rule-form.tsx";

afterEach(cleanup);

let savedRates: unknown[] = [];

beforeEach(() => {
  savedRates = [];
  vi.stubGlobal("fetch", async (_path: string, { method, body }: RequestInit = {}) => {
    if (method === "PATCH" && typeof body === "string") {
      savedRates.push((JSON.parse(body) as { sampling_rate: unknown }).sampling_rate);
    }
    return Response.json([]);
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MantineProvider withCssVariables={false}>
        <RuleForm projectId="p" rule={rule} onClose={() => undefined} />
      </MantineProvider>
    </QueryClientProvider>,
  );
});

const rule = {
  id: "r",
  name: "sample",
  filter: "",
  samplingRate: 0.07,
  action: { kind: "dataset", targetId: "d" },
  isEnabled: true,
  pausedReason: undefined,
  matched: 0,
  applied: 0,
  failed: 0,
  errors: [],
  pastProgress: undefined,
} as const;

const findField = (): HTMLInputElement => screen.getByLabelText("Sampling (%)");

test.each(["", "0", "250"])("a sampling of '%s' stays, is marked and not saved", async (text) => {
  fireEvent.change(findField(), { target: { value: text } });
  fireEvent.blur(findField());
  expect(findField().value).toBe(text);
  fireEvent.submit(findField());
  await screen.findByText("Enter a percentage from 0.01 to 100.");
  expect(savedRates).toEqual([]);
});

test("a sampling is saved as typed", async () => {
  expect(findField().value).toBe("7");
  fireEvent.change(findField(), { target: { value: "12.5" } });
  fireEvent.submit(findField());
  await waitFor(() => expect(savedRates).toEqual([0.125]));
});
