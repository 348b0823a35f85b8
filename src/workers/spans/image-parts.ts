type Part = Readonly<Record<string, unknown>>;

/**
 * Converts an image in a message to the form of OpenAI's API. Returns `undefined` if the part is not an image, or
 * contains neither the image nor its address.
 */
export function toImage(part: Part): Part | undefined {
  const { image, url } = readImage(part);
  return typeof url === "string" ? { ...image, type: "image_url", image_url: { url } } : undefined;
}

/** The address of an image, which may be a `data:` URL, and the other members of the part. */
interface Image {
  readonly image?: Part;
  readonly url?: unknown;
}

function readImage({ type, ...members }: Part): Image {
  switch (type) {
    // The semantic conventions.
    case "uri":
    case "blob": {
      const {
        modality,
        uri,
        content,
        data,
        mime_type: mimeType,
        mimeType: other,
        ...image
      } = members;
      const mediaType = [mimeType, other].find((value) => typeof value === "string");
      const isImage = modality === "image" || /^image\//i.test(mediaType ?? "");
      const url = type === "uri" ? uri : toDataUrl(content ?? data, mediaType);
      return isImage ? { image, url } : {};
    }
    // OpenAI's Responses API.
    case "input_image": {
      const { image_url: url, ...image } = members;
      return { image, url };
    }
    // Anthropic's API.
    case "image": {
      const { source, ...image } = members;
      return { image, url: readSource(source) };
    }
    default:
      return {};
  }
}

function readSource(source: unknown): unknown {
  if (!isObject(source)) {
    return undefined;
  }
  const { type, url, data, media_type: mediaType } = source;
  return type === "base64"
    ? toDataUrl(data, typeof mediaType === "string" ? mediaType : undefined)
    : url;
}

/** Returns the `data:` URL of an image. A value that is not a text, or is such a URL already, is returned unchanged. */
const toDataUrl = (base64: unknown, mediaType = "image/*"): unknown =>
  typeof base64 !== "string" || /^data:/i.test(base64)
    ? base64
    : `data:${mediaType};base64,${base64}`;

const isObject = (value: unknown): value is Part =>
  typeof value === "object" && value !== null && !Array.isArray(value);
