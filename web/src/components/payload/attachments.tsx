import { Button } from "@mantine/core";
import { useState } from "react";
import { LongText } from "../text/long-text.tsx";
import { toVisibleText } from "../text/visible-text.ts";
import { classifyAttachment } from "./attachment.ts";
import type { Attachment } from "./attachment.ts";
import "./attachments.css";

/** The maximum number of bytes of a text file that are shown. */
const previewBytes = 200_000;

/** The files of a run or an example: a preview if their type is safe, and a download link. */
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
  switch (classifyAttachment(file)) {
    case "image":
      return <ImagePreview key={file.address} file={file} />;
    case "audio":
      // oxlint-disable-next-line jsx-a11y/media-has-caption -- attachments come without captions
      return <audio src={file.address} controls preload="none" />;
    case "video":
      // oxlint-disable-next-line jsx-a11y/media-has-caption -- attachments come without captions
      return <video src={file.address} controls preload="metadata" />;
    case "text":
      return <TextPreview key={file.address} file={file} />;
    case "other":
      return null;
  }
};

const ImagePreview = ({ file: { address, name, mimeType } }: { readonly file: Attachment }) => {
  const [isBroken, setIsBroken] = useState(false);
  return isBroken ? (
    <p className="quiet">Can't be shown: the file is not {toVisibleText(mimeType)}.</p>
  ) : (
    <img src={address} alt={toVisibleText(name)} loading="lazy" onError={() => setIsBroken(true)} />
  );
};

const TextPreview = ({ file: { address } }: { readonly file: Attachment }) => {
  const [text, setText] = useState<string>();
  const onShow = async (): Promise<void> => {
    try {
      const response = await fetch(address);
      const blob = await response.blob();
      const preview = await blob.slice(0, previewBytes).text();
      const omittedBytes = blob.size - previewBytes;
      setText(
        omittedBytes > 0
          ? `${preview}\n… ${omittedBytes.toLocaleString("en")} more bytes`
          : preview,
      );
    } catch {
      setText("The server is not responding. Check that it is running.");
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

/** Replaces the characters that are special in paths on any operating system. */
const toFileName = (name: string): string =>
  toVisibleText(name)
    .replaceAll(/[/\\:*?"<>|]/g, "_")
    .slice(0, 150);
