/**
 * The kinds of text that callers give, by HTTP, on the command line or with the library.
 *
 * What must hold: no text has a NUL or a lone surrogate, every text has a maximum length, and a
 * name or a key has no control characters and no invisible characters.
 */
import { z } from 'zod'
import { withoutInvisible } from '../texts/invisible-text.ts'
import { isIPv4 } from 'node:net'

// Cc is every control character. The two separators show as line breaks.
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
export function text(max: number, tooLong = `must be at most ${max} characters`) {
  return z
    .string()
    .max(max, { message: tooLong, abort: true })
    .refine((value) => !value.includes('\0'), 'must not contain NUL')
    .refine(wellFormed, 'must be well-formed Unicode')
}

/** The same, measured as UTF-8. `size` is the maximum in words. */
export function textInBytes(max: number, size: string) {
  const tooLong = `must be at most ${size} as UTF-8`
  return text(max, tooLong).refine((value) => Buffer.byteLength(value) <= max, tooLong)
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

/** Whether a host name or address, as in a URL or a `Host` header, always means this machine. */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true
  return isIPv4(name) && name.startsWith('127.')
}
