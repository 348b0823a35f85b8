import { vi } from "vitest";

/**
 * happy-dom lays nothing out: every element has no size, and a virtual list no rows. This gives each
 * element one, until `vi.restoreAllMocks()`.
 */
export function pretendLayout({ width = 800, height = 400 } = {}): void {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(width);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(height);
}
