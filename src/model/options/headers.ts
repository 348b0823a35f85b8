import { OptionError } from "../errors.ts";
import { describeKind, formatValue, isObjectOfMembers } from "./option-problems.ts";

/**
 * Checks an object of headers that are sent with every request. `option` is the name of the option for messages.
 *
 * @throws {@link OptionError} if the headers are not an object of strings, a name is not a valid header name, or a
 * value contains a character that is not allowed.
 */
export function checkHeaders(
  headers: unknown,
  option = "headers",
): Readonly<Record<string, string>> {
  if (headers === undefined) {
    return {};
  }
  if (!isObjectOfMembers(headers)) {
    throw new OptionError(
      `Option ${option} must be an object of strings, such as { "x-team": "a" }, not ${describeKind(headers)}`,
    );
  }
  const entries = Object.entries(headers);
  const checkedEntries = entries.map(([name, value]: [string, unknown]): [string, string] => {
    if (!headerName.test(name)) {
      throw new OptionError(`Option ${option}: ${formatValue(name)} is not a valid header name`);
    }
    if (typeof value !== "string" || !headerValue.test(value)) {
      throw new OptionError(
        `Option ${option}: the value of ${name} must be a string without line breaks or other control characters (it is not shown)`,
      );
    }
    return [name, value];
  });
  return Object.fromEntries(checkedEntries);
}

/** These patterns match a header's name and value as RFC 9110, sections 5.1 and 5.5, defines them. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;
