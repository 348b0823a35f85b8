/** Returns an http or https URL unchanged, and `undefined` for anything else, such as `javascript:` URLs. */
export function toSafeLink(address: string | undefined): string | undefined {
  if (address === undefined || !/^https?:\/\//i.test(address)) {
    return undefined;
  }
  return URL.canParse(address) ? address : undefined;
}

/** Whether images of a type are safe to show: they can't contain scripts or load other files, as SVG can. */
export const isSafeImage = (mimeType: string): boolean =>
  /^image\/(png|jpeg|gif|webp|avif)$/i.test(mimeType);

/** Decodes the `data:` URL of a safe image type. Returns `undefined` for any other URL. */
export function toImageFile(address: string): Blob | undefined {
  const [, mimeType = "", base64] = /^data:([\w/+.-]+);base64,([\w+/=\s-]*)$/.exec(address) ?? [];
  if (base64 === undefined || !isSafeImage(mimeType)) {
    return undefined;
  }
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new Blob([bytes], { type: mimeType });
  } catch {
    return undefined; // Not valid base64. The caller explains why it shows no image.
  }
}
