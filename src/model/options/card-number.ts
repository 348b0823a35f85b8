/** Prefixes and lengths of card numbers, from ISO/IEC 7812-1 and the issuers' documentation. */
const cardNumberPattern =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|35\d{14}|3(?:0[0-5]|[68]\d)\d{11})$/;

/**
 * Whether the digits of a text are a card number: a known prefix and length, and a valid Luhn check
 * digit.
 */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/[ -]/g, "");
  if (!cardNumberPattern.test(digits)) {
    return false;
  }
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]);
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/**
 * Returns the length of the card number at the start of a text that consists of groups of digits; 0 if there is none.
 * Other digits, such as an expiry date, may follow the card number.
 */
export function findCardLength(groups: string): number {
  if (isCardNumber(groups)) {
    return groups.length;
  }
  if (!startsWithFourDigits.test(groups)) {
    return 0;
  }
  let end = findLastSeparator(groups, groups.length);
  while (end >= minCardDigits && !isCardNumber(groups.slice(0, end))) {
    end = findLastSeparator(groups, end - 1);
  }
  return end >= minCardDigits ? end : 0;
}

/**
 * Returns the offset of the separator before the next group that may begin a card number, or the length of the text. In
 * a text with several groups, a card number begins with a group of at least four digits.
 */
export function findNextGroup(text: string): number {
  const index = text.search(/[ -]\d{4}/);
  return index === -1 ? text.length : index;
}

const startsWithFourDigits = /^\d{4}/;

/** Minimum number of digits of a card number. */
const minCardDigits = 13;

const findLastSeparator = (groups: string, lastOffset: number): number =>
  Math.max(groups.lastIndexOf(" ", lastOffset), groups.lastIndexOf("-", lastOffset));
