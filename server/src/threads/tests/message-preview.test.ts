import { expect, test } from "vitest";
import { previewLastMessage } from "../message-preview.ts";

const preview = (json: string): string | undefined => previewLastMessage(Buffer.from(json));

test("a message is found beside a value that is nested 100,000 levels deep", () => {
  const levels = 100_000;
  const nested = "[".repeat(levels) + "]".repeat(levels);
  expect(preview(`{"trace":${nested},"answer":"Because."}`)).toBe("Because.");
  expect(preview(nested)).toBe("[".repeat(400));
});

test("damaged data is shown from its beginning", () => {
  expect(preview('{"answer":"Beca')).toBe('{"answer":"Beca');
});
