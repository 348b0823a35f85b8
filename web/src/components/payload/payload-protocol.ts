import type { PayloadMethod } from "./payload-source.ts";

/** What the page asks of its worker; `call` names the answer. */
export type PayloadRequest =
  | { readonly kind: "open"; readonly call: number; readonly bytes: ArrayBuffer }
  | {
      readonly kind: "call";
      readonly call: number;
      readonly document: number;
      readonly method: PayloadMethod;
      readonly args: readonly unknown[];
    }
  | { readonly kind: "close"; readonly document: number };

export type PayloadAnswer =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly failure: string };
