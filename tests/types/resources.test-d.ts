import { expectTypeOf, test } from "vitest";
import type { Resources } from "../../src/main/index.ts";

// Checks every call of every resource, including future ones.

type Calls = {
  [Resource in keyof Resources]: {
    [Name in keyof Resources[Resource]]: Resources[Resource][Name] extends (
      ...args: infer Args
    ) => unknown
      ? Required<Args>
      : never;
  };
};

/** The last argument of a call, which contains its options. */
type LastArgument<Args> = Args extends readonly [...unknown[], infer End] ? End : never;

type IsAny<Value> = 0 extends 1 & Value ? true : false;

/** The keys of each member of a union. */
type MembersOf<Value> = Value extends unknown ? keyof Value : never;

test("every call takes a signal", () => {
  type WithoutSignal = {
    [Resource in keyof Calls]: {
      [Name in keyof Calls[Resource]]: "signal" extends MembersOf<
        LastArgument<Calls[Resource][Name]>
      >
        ? never
        : Name;
    }[keyof Calls[Resource]];
  }[keyof Calls];
  expectTypeOf<WithoutSignal>().toEqualTypeOf<never>();
});

test("every optional member accepts undefined", () => {
  /** Whether optional members of the options do not accept `undefined`. */
  type StrictKeys<Options> = Options extends object
    ? {
        [Name in keyof Options]-?: object extends Pick<Options, Name>
          ? { readonly [Key in Name]: undefined } extends Pick<Options, Name>
            ? never
            : Name
          : never;
      }[keyof Options]
    : never;
  type Found = {
    [Resource in keyof Calls]: {
      [Name in keyof Calls[Resource]]: StrictKeys<LastArgument<Calls[Resource][Name]>>;
    }[keyof Calls[Resource]];
  }[keyof Calls];
  expectTypeOf<Found>().toEqualTypeOf<never>();
  // Makes sure that the check detects such members.
  expectTypeOf<
    StrictKeys<{ readonly a?: string; readonly b?: string | undefined }>
  >().toEqualTypeOf<"a">();
});

test("no call accepts or returns any", () => {
  type AnyMember<Value> = { [Name in keyof Value]: IsAny<Value[Name]> }[keyof Value];
  type Found = {
    [Resource in keyof Resources]: {
      [Name in keyof Resources[Resource]]: Resources[Resource][Name] extends (
        ...args: infer Args
      ) => infer Result
        ? true extends
            | IsAny<Args[number]>
            | IsAny<Awaited<Result>>
            | AnyMember<LastArgument<Required<Args>>>
            | (Awaited<Result> extends object ? AnyMember<Awaited<Result>> : false)
          ? Name
          : never
        : never;
    }[keyof Resources[Resource]];
  }[keyof Resources];
  expectTypeOf<Found>().toEqualTypeOf<never>();
});
