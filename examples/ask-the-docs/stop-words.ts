const stopWords = new Set(
  [
    "a about an and any are as at be belong but by can could did do does documentation explain for",
    "from get has have how i if in into is it its just look may more must not of on one only options",
    "or other our out over say should so some such than that the their them then there these they",
    "this to use used uses using was what when where which who why will with would you your",
  ].flatMap((line) => line.split(" ")),
);

/** Whether a word occurs in nearly every document. Searching for such words is slow and does not narrow the result. */
export const isStopWord = (word: string): boolean => stopWords.has(word.toLowerCase());
