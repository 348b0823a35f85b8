import { describe, expect, test } from "vitest";
import { mapped } from "../../../tests/support/otlp-spans.ts";

const image = (url: string) => ({ type: "image_url", image_url: { url } });
const question = { type: "text", text: "What is it?" };
const address = "https://example.com/a.png";
const dataUrl = "data:image/png;base64,AQI=";

const contentOf = (attributes: object): unknown => {
  const { messages } = mapped({ attributes })["inputs"] as { messages: { content: unknown }[] };
  return messages[0]?.content;
};

const withPart = (part: object) => ({
  "gen_ai.input.messages": JSON.stringify([
    { role: "user", parts: [{ type: "text", content: "What is it?" }, part] },
  ]),
});

describe("an image has the same form in each convention:", () => {
  test.each([
    [{ type: "uri", modality: "image", uri: address }, address],
    [{ type: "uri", modality: "image", mime_type: "image/png", uri: address }, address],
    [{ type: "uri", mime_type: "image/png", uri: address }, address],
    [{ type: "blob", modality: "image", mime_type: "image/png", content: "AQI=" }, dataUrl],
    [{ type: "blob", modality: "image", mimeType: "image/png", data: "AQI=" }, dataUrl],
    [{ type: "blob", mime_type: "image/png", content: "AQI=" }, dataUrl],
    [{ type: "blob", modality: "image", content: "AQI=" }, "data:image/*;base64,AQI="],
    [{ type: "blob", modality: "image", content: dataUrl }, dataUrl],
    [{ type: "image_url", image_url: { url: address } }, address],
    [{ type: "input_image", image_url: address }, address],
    [{ type: "image", source: { type: "url", url: address } }, address],
    [{ type: "image", source: { type: "base64", media_type: "image/png", data: "AQI=" } }, dataUrl],
  ])("the part %j", (part, url) => {
    expect(contentOf(withPart(part))).toEqual([question, image(url)]);
  });

  test("those of OpenInference", () => {
    const prefix = "llm.input_messages.0.message.contents";
    expect(
      contentOf({
        [`${prefix}.0.message_content.type`]: "text",
        [`${prefix}.0.message_content.text`]: "What is it?",
        [`${prefix}.1.message_content.type`]: "image",
        [`${prefix}.1.message_content.image.image.url`]: dataUrl,
      }),
    ).toEqual([question, image(dataUrl)]);
  });

  test("the JSON text of a list of parts, in indexed names", () => {
    const parts = [question, { type: "image_url", image_url: { url: address } }];
    expect(
      contentOf({
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": JSON.stringify(parts),
      }),
    ).toEqual(parts);
    const blob = { type: "blob", modality: "image", mime_type: "image/png", content: "AQI=" };
    expect(contentOf({ "gen_ai.prompt.0.content": JSON.stringify([question, blob]) })).toEqual([
      question,
      image(dataUrl),
    ]);
  });
});

test("other members of an image stay", () => {
  const part = { type: "uri", modality: "image", uri: address, detail: "low" };
  expect(contentOf(withPart(part))).toEqual([question, { ...image(address), detail: "low" }]);
});

test.each([
  [{ type: "uri", modality: "audio", uri: address }],
  [{ type: "blob", modality: "video", mime_type: "video/mp4", content: "AQI=" }],
  [{ type: "blob", modality: "image", mime_type: "image/png" }],
  [{ type: "blob", content: "AQI=" }],
  [{ type: "file", modality: "image", file_id: "f1" }],
  [{ type: "input_image", file_id: "f1" }],
  [{ type: "image", source: { type: "file", file_id: "f1" } }],
])("a part that is no image, or has no content, stays as it is: %j", (part) => {
  expect(contentOf(withPart(part))).toEqual([question, part]);
});

test("a list of one text part in indexed names is the text, as in other conventions", () => {
  expect(contentOf({ "gen_ai.prompt.0.content": JSON.stringify([question]) })).toBe("What is it?");
});

test.each([["[1, 2]"], ["[]"], ['[{"type": "cat"}]'], ['[{"a": 1}]'], ["[{"], ['{"type":"text"}']])(
  "the text %s of a message is no list of parts, and stays",
  (content) => {
    expect(contentOf({ "gen_ai.prompt.0.content": content })).toBe(content);
  },
);
