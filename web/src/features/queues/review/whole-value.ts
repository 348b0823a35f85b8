import { toSource } from "../../../components/payload/json-view.tsx";

/** A value as JSON text, also where a worker holds it; an empty object where nothing was recorded. */
export const toWholeText = async (value: unknown): Promise<string> =>
  value === undefined ? "{}" : toSource(value).json();

/** The value itself, however large; `undefined` where nothing was recorded. */
export async function toWholeValue(value: unknown): Promise<unknown> {
  const whole: unknown = value === undefined ? undefined : JSON.parse(await toWholeText(value));
  return whole;
}
