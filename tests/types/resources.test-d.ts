import { expectTypeOf, test } from "vitest";
import type { Resources } from "../../src/main/index.ts";

// What holds of every call of every noun, those to come included.

type Calls = {
  [Noun in keyof Resources]: {
    [Name in keyof Resources[Noun]]: Resources[Noun][Name] extends (...args: infer Args) => unknown
      ? Required<Args>
      : never;
  };
};

/** The last argument: where the options are. */
type LastArgument<Args> = Args extends readonly [...unknown[], infer End] ? End : never;

type IsAny<Value> = 0 extends 1 & Value ? true : false;

/** Each member of a union by itself. */
type MembersOf<Value> = Value extends unknown ? keyof Value : never;

test("every call takes a signal", () => {
  type Without = {
    [Noun in keyof Calls]: {
      [Name in keyof Calls[Noun]]: "signal" extends MembersOf<LastArgument<Calls[Noun][Name]>>
        ? never
        : Name;
    }[keyof Calls[Noun]];
  }[keyof Calls];
  expectTypeOf<Without>().toEqualTypeOf<never>();
});

test("whatever can be left out can be given as undefined", () => {
  /** Members that may be absent and may not be `undefined`. */
  type Strict<Options> = Options extends object
    ? {
        [Name in keyof Options]-?: object extends Pick<Options, Name>
          ? { readonly [Key in Name]: undefined } extends Pick<Options, Name>
            ? never
            : Name
          : never;
      }[keyof Options]
    : never;
  type Found = {
    [Noun in keyof Calls]: {
      [Name in keyof Calls[Noun]]: Strict<LastArgument<Calls[Noun][Name]>>;
    }[keyof Calls[Noun]];
  }[keyof Calls];
  expectTypeOf<Found>().toEqualTypeOf<never>();
  // The check itself sees what it looks for.
  expectTypeOf<
    Strict<{ readonly a?: string; readonly b?: string | undefined }>
  >().toEqualTypeOf<"a">();
});

test("no call takes or answers any", () => {
  type AnyMember<Value> = { [Name in keyof Value]: IsAny<Value[Name]> }[keyof Value];
  type Found = {
    [Noun in keyof Resources]: {
      [Name in keyof Resources[Noun]]: Resources[Noun][Name] extends (
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
    }[keyof Resources[Noun]];
  }[keyof Resources];
  expectTypeOf<Found>().toEqualTypeOf<never>();
});
