import { Button } from "@mantine/core";
import { useState } from "react";
import { LongText } from "../text/long-text.tsx";
import { toVisibleText } from "../text/visible-text.ts";
import { kindOfAttachment } from "./attachment.ts";
import type { Attachment } from "./attachment.ts";
import "./attachments.css";

/** Characters of a text file that are shown. */
const previewBytes = 200_000;

/** Files of a run or an example: shown where that is safe, and to save. */
export const Attachments = ({ files }: { readonly files: readonly Attachment[] }) => (
  <ul className="attachments">
    {files.map((file) => (
      <li key={file.name}>
        <p>
          <bdi>{toVisibleText(file.name)}</bdi>
          <small>{toVisibleText(file.mimeType)}</small>
          <a href={file.address} download={toFileName(file.name)}>
            Download
          </a>
        </p>
        <Preview file={file} />
      </li>
    ))}
  </ul>
);

const Preview = ({ file }: { readonly file: Attachment }) => {
  switch (kindOfAttachment(file)) {
    case "image":
      return <img src={file.address} alt={toVisibleText(file.name)} loading="lazy" />;
    case "audio":
      // oxlint-disable-next-line jsx-a11y/media-has-caption -- recorded without one
      return <audio src={file.address} controls preload="none" />;
    case "video":
      // oxlint-disable-next-line jsx-a11y/media-has-caption -- recorded without one
      return <video src={file.address} controls preload="metadata" />;
    case "text":
      return <TextPreview key={file.address} file={file} />;
    case "other":
      return null;
  }
};

const TextPreview = ({ file: { address } }: { readonly file: Attachment }) => {
  const [text, setText] = useState<string>();
  const onShow = async (): Promise<void> => {
    try {
      const response = await fetch(address);
      const blob = await response.blob();
      const shown = await blob.slice(0, previewBytes).text();
      const rest = blob.size - previewBytes;
      setText(rest > 0 ? `${shown}\n… ${rest.toLocaleString()} more bytes` : shown);
    } catch {
      setText("The server does not answer. Is it still running?");
    }
  };
  return text === undefined ? (
    <Button size="compact-xs" variant="default" onClick={() => void onShow()}>
      Show as text
    </Button>
  ) : (
    <LongText text={text} />
  );
};

/** A name that no system takes for a path. */
const toFileName = (name: string): string =>
  toVisibleText(name)
    .replaceAll(/[/\\:*?"<>|]/g, "_")
    .slice(0, 150);
