/**
 * Flags that narrow a list, checked by the same schemas as the query of the HTTP endpoint, and told
 * of in the words of the command line.
 */
import type { Command } from 'commander'
import type { z } from 'zod'
import { id as idSchema } from '../../http/contract/fields.ts'
import { clauses } from '../../sentences.ts'
import { findingsOf } from '../../validation/findings.ts'
import { textOf, type Parsed } from './connection.ts'
import { UsageError } from '../failure.ts'

export function addPageFlags(command: Command): Command {
  return command
    .option('--limit <number>', 'how many, 1 to 1000 (default: 100)')
    .option('--cursor <cursor>', 'go on where the page before ended')
    .option('--all', 'every one there is, page by page')
}

/** `fields` are the names in the query; a flag has the same words. */
export function queryOf<T extends z.ZodType>(
  schema: T,
  fields: readonly string[],
  parsed: Parsed,
): z.infer<T> {
  return checkFlags(schema, [...fields, 'limit', 'cursor'], parsed)
}

/** The same for what is no list. */
export function checkFlags<T extends z.ZodType>(
  schema: T,
  fields: readonly string[],
  parsed: Parsed,
): z.infer<T> {
  const given = fields.flatMap((field) => {
    const text = textOf(parsed, camel(field))
    return text === undefined ? [] : [[field, text] as const]
  })
  const data = Object.fromEntries(given)
  const checked = schema.safeParse(data)
  if (checked.success) return checked.data
  const problems = findingsOf(schema, checked.error.issues, data).map(({ path, message }) => {
    return `--${String(path[0]).replaceAll('_', '-')} ${message}`
  })
  throw new UsageError(clauses([...new Set(problems)]))
}

function camel(field: string): string {
  return field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** An id from the command line; it becomes part of a path. */
export function checkId(text: string): string {
  const checked = idSchema.safeParse(text.trim())
  if (checked.success) return checked.data
  throw new UsageError('An id has 1 to 100 letters, digits, underscores or hyphens')
}
