import { v5 } from "uuid";

/** The id of the row with this key: the same in every upload to the same place. RFC 9562, section 5.5. */
export const idOfKey = (place: string, key: string): string => v5(`key:${key}`, place);

/** The id of a row with this content. `texts` are its JSON, member by member. */
export const idOfContent = (place: string, texts: readonly Uint8Array[]): string =>
  v5(Buffer.concat([Buffer.from("content:"), ...texts]), place);
