/** Fields that the content of several channels is made of, as a run sends it. */
import { z } from 'zod'
import { hideSecrets } from '../texts/hide-secrets.ts'
import { joinedWords } from '../texts/invisible-text.ts'
import { line, text } from '../validation/text-fields.ts'

/** Text that does not fit into a comment is cut. Above this length, it is refused instead. */
const textMax = 200_000

export const markdown = text(textMax).describe('Markdown. Cut if it is too long for GitHub.')
export const nonEmptyMarkdown = markdown.refine((value) => value.trim() !== '', 'must not be empty')

/** GitHub finds it again by this name, so no part of it can be hidden. */
export const publicName = (max: number) =>
  line(max).refine((value) => hideSecrets(value) === joinedWords(value), 'must not hold a secret')

export const nullableText = z.string().nullable()
