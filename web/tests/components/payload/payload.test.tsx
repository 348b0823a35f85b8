import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { Attachments } from "../../../src/components/payload/attachments.tsx";
import { Markdown } from "../../../src/components/markdown/markdown.tsx";
import { Payload } from "../../../src/components/payload/payload.tsx";

afterEach(cleanup);

const show = (element: React.ReactNode) => render(<MantineProvider>{element}</MantineProvider>);

test("Markdown of a run renders no HTML, no images, and only http links", () => {
  const text = [
    "# Title <script>alert(1)</script>",
    "[bad](javascript:alert(1)) [good](https://a.test/) ![pic](https://b.test/p.png)",
    "<img src=x onerror=alert(2)>",
    "- [x] done",
    "\u202Egnp.exe",
  ].join("\n\n");
  const { container } = show(<Markdown text={text} />);
  expect(container.querySelectorAll("script, img, input, h1")).toHaveLength(0);
  const links = [...container.querySelectorAll("a")];
  expect(links.map((link) => link.getAttribute("href"))).toEqual([
    "https://a.test/",
    "https://b.test/p.png",
  ]);
  expect(links.every((link) => link.rel === "noreferrer")).toBe(true);
  expect(container.textContent).toContain("<img src=x onerror=alert(2)>");
  expect(container.textContent).toContain(String.raw`\u202egnp.exe`);
  expect(container.textContent).toContain("☑ done");
});

test("a value with messages is shown as chat, or as JSON if selected", async () => {
  const args = '{"city":"Rome"}';
  const value = {
    messages: [
      { role: "user", content: "Will it **rain**?" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "c", function: { name: "sky", arguments: args } }],
      },
    ],
  };
  show(<Payload label="Inputs" value={value} />);
  expect(screen.getByText("rain").tagName).toBe("STRONG");
  expect(screen.getByText("sky")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "JSON" }));
  expect(screen.getByRole("tree", { name: "Inputs" })).toBeDefined();
  expect(screen.queryByText("sky")).toBeNull();
});

test("a long text is truncated and can be extended", async () => {
  show(<Payload label="Outputs" value={"x".repeat(150_000)} mode="raw" />);
  expect(screen.getByText(/more characters/).textContent).toContain("130,002");
  await userEvent.click(screen.getByRole("button", { name: "Show more" }));
  expect(screen.getByText(/more characters/).textContent).toContain("80,002");
});

test("a missing value is shown as not recorded", () => {
  show(<Payload label="Outputs" value={undefined} />);
  expect(screen.getByText(/not recorded/)).toBeDefined();
});

test("an image within the run is shown; an external one is only named", () => {
  const content = [
    { type: "image_url", image_url: { url: "data:image/png;base64,AQID" } },
    { type: "image_url", image_url: { url: "https://b.test/p.png" } },
    { type: "image_url", image_url: { url: "javascript:alert(1)" } },
  ];
  const { container } = show(
    <Payload label="Inputs" value={{ messages: [{ role: "user", content }] }} />,
  );
  const images = [...container.querySelectorAll("img")];
  expect(images.map(({ src }) => src.slice(0, 5))).toEqual(["blob:"]);
  expect(container.querySelectorAll("a")).toHaveLength(1);
  expect(container.textContent).toContain("[image: javascript:alert(1)]");
});

test("files are downloaded under names without path characters", () => {
  const files = [
    { name: "../../etc/passwd", mimeType: "text/plain", address: "/attachments?token=a" },
    { name: "pic", mimeType: "image/png", address: "/attachments?token=b" },
    { name: "drawing", mimeType: "image/svg+xml", address: "/attachments?token=c" },
  ];
  const { container } = show(<Attachments files={files} />);
  const [first] = screen.getAllByRole("link", { name: "Download" });
  expect(first?.getAttribute("download")).toBe(".._.._etc_passwd");
  expect([...container.querySelectorAll("img")].map(({ alt }) => alt)).toEqual(["pic"]);
});

test("an image that can't be shown says why", () => {
  const content = ["data:image/png;base64,AQID", "data:image/svg+xml;base64,PHN2Zy8+"].map(
    (url) => ({
      type: "image_url",
      image_url: { url },
    }),
  );
  const { container } = show(
    <Payload label="Inputs" value={{ messages: [{ role: "user", content }] }} />,
  );
  // The browser reports that the bytes are no image.
  fireEvent.error(container.querySelector("img")!);
  expect(container.querySelectorAll("img")).toHaveLength(0);
  expect(container.textContent).toContain("[can't be shown: the data is not image/png]");
  expect(container.textContent).toContain("[can't be shown: image/svg+xml. Only PNG,");
  expect(container.textContent).not.toContain("PHN2");
});

test("an attached image that can't be shown says so", () => {
  const file = { name: "a.png", mimeType: "image/png", address: "blob:a" };
  const { container } = show(<Attachments files={[file]} />);
  fireEvent.error(container.querySelector("img")!);
  expect(container.textContent).toContain("Can't be shown: the file is not image/png.");
});

const deepValue: unknown = JSON.parse(`{"a":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}}`);

test.for([
  ["yaml", "a:\n  a:\n"],
  ["raw", '{\n  "a": {\n    "a": {\n'],
] as const)("a value of 9,000 levels is shown as %s", ([mode, beginning]) => {
  const { container } = show(<Payload label="Outputs" value={deepValue} mode={mode} />);
  expect(container.querySelector("pre")?.textContent).toContain(beginning);
});
