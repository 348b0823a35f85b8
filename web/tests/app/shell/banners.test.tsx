// @vitest-environment happy-dom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { ReadOnlyBanner } from "../../../src/app/shell/banners.tsx";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test.each([
  ["says that nothing is stored while the disk is full", { read_only: "the disk is full" }, 1],
  ["says nothing while all is taken", { version: "1" }, 0],
])("the banner %s", async (_what, info, count) => {
  const answer = vi.fn<() => Promise<Response>>(async () => Response.json(info));
  vi.stubGlobal("fetch", answer);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ReadOnlyBanner />
    </QueryClientProvider>,
  );
  await vi.waitFor(() => {
    expect(answer).toHaveBeenCalledTimes(1);
    expect(screen.queryAllByText(/disk is full. New data is not stored/)).toHaveLength(count);
  });
});
