import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { ReadOnlyBanner } from "../../../src/app/shell/banners.tsx";

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

test.each([
  ["is shown while the disk is full", { read_only: "the disk is full" }, 1],
  ["is hidden while the server accepts data", { version: "1" }, 0],
])("the banner %s", async (_behaviour, info, count) => {
  const respond = vi.fn<() => Promise<Response>>(async () => Response.json(info));
  vi.stubGlobal("fetch", respond);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ReadOnlyBanner />
    </QueryClientProvider>,
  );
  await vi.waitFor(() => {
    expect(respond).toHaveBeenCalledTimes(1);
    expect(screen.queryAllByText(/disk is full. New data is not stored/)).toHaveLength(count);
  });
});
