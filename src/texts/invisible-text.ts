/**
 * Removes characters that nobody sees: control characters, marks that change the direction of text,
 * joiners, tags.
 *
 * What must hold: published text has no invisible character that could hide or split something.
 * Joiners and variation selectors stay where a script or an emoji needs them. That is never between
 * two ASCII characters.
 */

/** No text needs these. Tag characters can carry hidden text, so flags made of them are removed. */
const neverNeeded = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|\p{Bidi_Control}|[\u00ad\u115f\u1160\u200b\u2060-\u206f\u3164]` +
    String.raw`|[\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]`,
  'gu',
)

const insideWord = /(?<=[\x21-\x7e])\p{Default_Ignorable_Code_Point}+(?=[\x21-\x7e])/gu

export function withoutInvisible(text: string): string {
  return joinedWords(text.replaceAll(neverNeeded, ''))
}

/** Removes invisible characters inside ASCII words, so that a split secret is one word again. */
export function joinedWords(text: string): string {
  return text.replaceAll(insideWord, '')
}
