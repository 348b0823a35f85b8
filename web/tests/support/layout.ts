import { vi } from "vitest";

/**
 * Gives every element a size until `vi.restoreAllMocks()`. happy-dom computes no layout: elements have no size,
 * so a virtual list would render no rows.
 */
export function pretendLayout({ width = 800, height = 400 } = {}): void {
  vi.spyOn(HTMLElement.prototype, "clientWidth", "get").mockReturnValue(width);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(height);
}
