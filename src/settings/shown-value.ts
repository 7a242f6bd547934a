/**
 * A wrong value as an error repeats it: short, and without what has the form of a secret. What is
 * inside an object or a list is not shown.
 */
import { inspect } from 'node:util'
import { hideForms, tokenForms } from '../hide-secrets.ts'

const lengthMax = 60

export function shownValue(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return inspect(value)
  const text = JSON.stringify(hideForms(value, tokenForms))
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 3)}...` : text
}
