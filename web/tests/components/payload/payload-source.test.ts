import { describe, expect, test } from "vitest";
import {
  classifyAttachment,
  parseAttachments,
} from "../../../src/components/payload/attachment.ts";
import {
  LocalPayload,
  PayloadStore,
  toProse,
} from "../../../src/components/payload/payload-source.ts";
import { toImageFile, toSafeLink } from "../../../src/components/text/safe-link.ts";
import { splitMatches } from "../../../src/components/text/split-matches.ts";

const bytesOf = (value: unknown): ArrayBuffer =>
  new TextEncoder().encode(JSON.stringify(value)).buffer;

describe("values of a run", () => {
  test("the most suitable display mode comes first", () => {
    const messages = [{ role: "user", content: "hi" }];
    const listModes = (value: unknown) => new LocalPayload(value).listModes();
    expect(listModes({ messages })).toEqual(["chat", "json", "table", "yaml", "raw"]);
    expect(listModes({ answer: "**yes**" })).toEqual(["markdown", "json", "yaml", "raw"]);
    expect(listModes({ documents: [{ id: 1 }] })).toEqual(["json", "table", "yaml", "raw"]);
    expect(listModes([1])).toEqual(["json", "yaml", "raw"]);
    expect(toProse({ a: "x", b: "y" })).toBeUndefined();
    expect(toProse({ a: "x" })).toEqual({ key: "a", text: "x" });
  });

  test("the worker keeps the large members of a document and serves requests for them", () => {
    const store = new PayloadStore();
    const inputs = { text: "z".repeat(60_000) };
    const opened = store.open(bytesOf({ id: "1", inputs, tags: ["a"] }));
    expect(opened.value).toEqual({ id: "1", tags: ["a"] });
    const { document = 0, sizeChars } = opened.storedMembers["inputs"] ?? {};
    expect(sizeChars).toBe(JSON.stringify(inputs).length);
    expect(store.call(document, "readProse", [])).toEqual({ key: "text", text: inputs.text });
    expect(store.call(document, "countRows", [])).toBe(1);
    store.close(document);
    expect(() => store.call(document, "countRows", [])).toThrow("no longer loaded");
  });
});

describe("untrusted links and files", () => {
  test("only http and https links are accepted", () => {
    expect(toSafeLink("https://a.test/b")).toBe("https://a.test/b");
    for (const address of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      " https://a.test",
      "data:text/html,x",
      "//a.test",
      "https://",
      undefined,
    ]) {
      expect(toSafeLink(address)).toBeUndefined();
    }
  });

  test("only `data:` URLs of safe image types are decoded", async () => {
    const file = toImageFile("data:image/png;base64,AQID");
    expect(file?.type).toBe("image/png");
    expect([...new Uint8Array((await file?.arrayBuffer()) ?? new ArrayBuffer(0))]).toEqual([
      1, 2, 3,
    ]);
    expect(toImageFile("data:image/svg+xml;base64,AQID")).toBeUndefined();
    expect(toImageFile("data:text/html;base64,AQID")).toBeUndefined();
    expect(toImageFile("data:image/png;base64,A")).toBeUndefined();
    expect(toImageFile("https://a.test/x.png")).toBeUndefined();
  });

  test("attachments are requested from this server, whatever host their URLs contain", () => {
    const [file, ...others] = parseAttachments({
      "attachment.pic": {
        presigned_url: "http://inner:1/attachments?token=t",
        mime_type: "image/png",
      },
      broken: null,
      odd: { presigned_url: "not an address" },
    });
    expect(others).toEqual([]);
    expect(file).toEqual({ name: "pic", mimeType: "image/png", address: "/attachments?token=t" });
    expect(parseAttachments(null)).toEqual([]);
  });

  test("a file is previewed according to its type, but not if it could contain scripts", () => {
    const kinds = [
      "image/webp",
      "image/svg+xml",
      "audio/mpeg",
      "video/webm",
      "text/html",
      "application/pdf",
    ];
    expect(kinds.map((mimeType) => classifyAttachment({ mimeType }))).toEqual([
      "image",
      "other",
      "audio",
      "video",
      "text",
      "other",
    ]);
  });

  test("every occurrence of a word is marked", () => {
    expect(splitMatches("aXbxc", "x")).toEqual([
      { text: "a", isMatch: false },
      { text: "X", isMatch: true },
      { text: "b", isMatch: false },
      { text: "x", isMatch: true },
      { text: "c", isMatch: false },
    ]);
    expect(splitMatches("İx", "x")).toEqual([{ text: "İx", isMatch: false }]);
    expect(splitMatches("abc", "")).toEqual([{ text: "abc", isMatch: false }]);
  });
});
