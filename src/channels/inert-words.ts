/** Words of prose from outside that notify nobody and refer to no issue. */
import { zeroWidth } from './code-blocks.ts'

/** After a letter or digit it is an address, not a mention. */
export const mentionStart = /(?<![A-Za-z0-9])@(?![\s\u200b])/g
/** Not in an entity. An escape before the hyphen is not shown. */
export const referenceStart = /(?<!(?<!\\)&(?=#\d{1,7};))#(?=\d)|(?<![A-Za-z0-9])GH\\?-(?=\d)/gi

export function inertWords(text: string): string {
  return text.replaceAll(mentionStart, `@${zeroWidth}`).replaceAll(referenceStart, `$&${zeroWidth}`)
}
