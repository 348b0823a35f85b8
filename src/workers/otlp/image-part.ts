import { firstText, toMembers } from "./json-value.ts";
import type { Members } from "./json-value.ts";

/** An image of a message, in the form of OpenTelemetry's conventions: its bytes as base64, or its address. */
export type ImagePart =
  | {
      readonly type: "blob";
      readonly modality: "image";
      readonly mime_type: string;
      readonly content: string;
    }
  | {
      readonly type: "uri";
      readonly modality: "image";
      readonly mime_type?: string;
      readonly uri: string;
    };

/**
 * Converts a part of a message that is an image in the form of OpenAI's chat or Responses API, of Anthropic's or
 * Gemini's API, or of LangChain. Returns `undefined` for other parts, and for an image of which only a provider's id is
 * known.
 */
export function toImagePart(item: Members): ImagePart | undefined {
  switch (item["type"]) {
    case "image_url":
    case "input_image": {
      const { image_url: image } = item;
      return toImage(firstText(image, toMembers(image)["url"]));
    }
    case "image":
      return toTypedImage({ ...item, ...toMembers(item["source"]) });
    case undefined:
      return toGeminiImage(item);
    default:
      return undefined;
  }
}

/** Converts an image whose members are those of Anthropic's source of an image, or of LangChain's part. */
function toTypedImage({
  url,
  data,
  media_type: mediaType,
  mime_type: mimeType,
  mimeType: otherMimeType,
}: Members): ImagePart | undefined {
  const type = firstText(mediaType, mimeType, otherMimeType);
  return toBlob(type, data) ?? toImage(firstText(url), type);
}

/** Converts a part of Gemini's API. Its API over HTTP accepts both spellings of the names. */
function toGeminiImage(item: Members): ImagePart | undefined {
  const inline = toMembers(item["inlineData"] ?? item["inline_data"]);
  const file = toMembers(item["fileData"] ?? item["file_data"]);
  const type = [inline, file]
    .map((members) => firstText(members["mimeType"], members["mime_type"]))
    .find((text) => text !== undefined);
  // The same members contain audio, video and documents.
  return type?.startsWith("image/") === true
    ? (toBlob(type, inline["data"]) ?? toImage(firstText(file["fileUri"], file["file_uri"]), type))
    : undefined;
}

const toBlob = (type: string | undefined, data: unknown): ImagePart | undefined =>
  type !== undefined && typeof data === "string"
    ? { type: "blob", modality: "image", mime_type: type, content: data }
    : undefined;

/** The beginning of a `data:` URL that contains base64. */
const dataUrlPattern = /^data:([^,;/]+\/[^,;]+)(?:;[^,;]*)*;base64,/i;

/** Converts the address of an image. A `data:` URL, which contains the image, becomes the image's bytes. */
function toImage(url: string | undefined, type?: string): ImagePart | undefined {
  if (url === undefined) {
    return undefined;
  }
  const [beginning, ownType] = dataUrlPattern.exec(url) ?? [];
  if (beginning !== undefined && ownType !== undefined) {
    return toBlob(ownType, url.slice(beginning.length));
  }
  const mimeType = type === undefined ? {} : { mime_type: type };
  return { type: "uri", modality: "image", ...mimeType, uri: url };
}

/** Returns the address of an image: a `data:` URL if its bytes are known. */
export const toImageUrl = (image: ImagePart): string =>
  image.type === "uri" ? image.uri : `data:${image.mime_type};base64,${image.content}`;
