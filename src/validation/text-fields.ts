/**
 * The kinds of text that callers give, whichever door they come through.
 *
 * What must hold: no text with a NUL, a lone surrogate or, where it is a name or a key, any control
 * or invisible character gets past here; what passes is bounded in size.
 */
import { z } from 'zod'
import { withoutInvisible } from '../invisible-text.ts'

// Cc is every control character; the two separators break lines where people read them.
const controlFree = /^[^\p{Cc}\u2028\u2029]*$/u
const wellFormed = (text: string): boolean => text.isWellFormed()
const allVisible = (text: string): boolean => withoutInvisible(text) === text

/** A name, a key, a label: one line of characters that people can see. */
export function line(max: number) {
  return z
    .string()
    .min(1, 'must not be empty')
    .max(max, `must be at most ${max} characters`)
    .regex(controlFree, 'must be one line without control characters')
    .refine(allVisible, 'must not contain invisible characters')
    .refine(wellFormed, 'must be well-formed Unicode')
}

/** Text for people: may have line breaks and tabs. */
export function text(max: number) {
  return z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((value) => !value.includes('\0'), 'must not contain NUL')
    .refine(wellFormed, 'must be well-formed Unicode')
}

export const httpUrl = z
  .string()
  .max(2000, 'must be at most 2000 characters')
  .refine(isHttpUrl, 'must be an http or https URL')
  .meta({ format: 'uri' })

function isHttpUrl(value: string): boolean {
  if (!controlFree.test(value) || !value.isWellFormed()) return false
  const url = URL.parse(value)
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:')
}
