/** What issuers' numbers begin with, and how long they are: ISO/IEC 7812-1 and the issuers' own words. */
const issuers =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|35\d{14}|3(?:0[0-5]|[68]\d)\d{11})$/;

/** Whether the digits of a text are a card's number: an issuer's, with the check digit of Luhn. */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/[ -]/g, "");
  if (!issuers.test(digits)) {
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
 * How far the number of a card reaches with which digits in groups begin; 0 where they begin with none.
 * What follows may be digits too, such as the month in which it expires.
 */
export function cardLength(groups: string): number {
  if (isCardNumber(groups)) {
    return groups.length;
  }
  if (!beginsLong.test(groups)) {
    return 0;
  }
  let end = lastSeparator(groups, groups.length);
  while (end >= shortest && !isCardNumber(groups.slice(0, end))) {
    end = lastSeparator(groups, end - 1);
  }
  return end >= shortest ? end : 0;
}

/** How far it is to the next group that may begin a card: beside other digits those of a card stand by fours at least. */
export function nextGroup(groups: string): number {
  const at = groups.search(/[ -]\d{4}/);
  return at === -1 ? groups.length : at;
}

const beginsLong = /^\d{4}/;

/** Digits of the shortest number. */
const shortest = 13;

const lastSeparator = (groups: string, from: number): number =>
  Math.max(groups.lastIndexOf(" ", from), groups.lastIndexOf("-", from));
