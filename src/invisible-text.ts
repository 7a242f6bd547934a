/**
 * Characters that nobody sees: controls, marks that turn the direction of text, joiners, tags.
 *
 * What must hold: text that is published carries none that could hide or split something. Joiners
 * and variation selectors stay where a script or an emoji needs them, which is never between two
 * ASCII characters.
 */

/** No text needs these. Tag characters carry hidden text, so flags made of them are not kept. */
const neverNeeded = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|\p{Bidi_Control}|[\u00ad\u115f\u1160\u200b\u2060-\u206f\u3164]` +
    String.raw`|[\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]`,
  'gu',
)

const insideWord = /(?<=[\x21-\x7e])\p{Default_Ignorable_Code_Point}+(?=[\x21-\x7e])/gu

export function withoutInvisible(text: string): string {
  return joinedWords(text.replaceAll(neverNeeded, ''))
}

/** An ASCII word that invisible characters split, such as a secret, in one piece again. */
export function joinedWords(text: string): string {
  return text.replaceAll(insideWord, '')
}
