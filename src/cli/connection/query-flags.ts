/**
 * Flags that narrow a list, checked by the same schemas as the query of the HTTP endpoint, with
 * messages in the words of the command line.
 */
import type { Command } from 'commander'
import { z } from 'zod'
import { budgetParams } from '../../contract/deliveries.ts'
import { id as idSchema } from '../../contract/fields.ts'
import { clauses } from '../../texts/sentences.ts'
import { findingsOf } from '../../validation/findings.ts'
import { textOf, type Parsed } from './connection.ts'
import { UsageError } from '../failure.ts'

/**
 * `holdfast runs` means `holdfast runs list`, so its help has the flags of the list. Call this
 * last: a command that is added to the group later would inherit this help.
 */
export function showFlagsOfList(group: Command): void {
  const list = group.commands.find((command) => command.name() === 'list')
  if (list === undefined) return
  const help = group.createHelp()
  group.configureHelp({ ...group.configureHelp(), visibleOptions: () => help.visibleOptions(list) })
}

export function addPageFlags(command: Command): Command {
  return command
    .option('--limit <number>', 'how many to show, 1 to 1000 (default: 100)')
    .option('--cursor <cursor>', 'continue after the page that printed this cursor')
    .option('--all', 'show all, page by page')
}

/** `fields` are the names in the query; a flag has the same words. */
export function queryOf<T extends z.ZodType>(
  schema: T,
  fields: readonly string[],
  parsed: Parsed,
): z.infer<T> {
  return checkFlags(schema, [...fields, 'limit', 'cursor'], parsed)
}

/** The same for a command that is not a list. */
export function checkFlags<T extends z.ZodType>(
  schema: T,
  fields: readonly string[],
  parsed: Parsed,
): z.infer<T> {
  const given = fields.flatMap((field) => {
    const text = textOf(parsed, camel(field))
    return text === undefined ? [] : [[field, withFieldSpelling(schema, field, text)] as const]
  })
  const data = Object.fromEntries(given)
  const checked = schema.safeParse(data)
  if (checked.success) return checked.data
  const problems = findingsOf(schema, checked.error.issues, data).map(({ path, message }) => {
    return `--${String(path[0]).replaceAll('_', '-')} ${message}`
  })
  throw new UsageError(clauses([...new Set(problems)]))
}

/** The field's own spelling of a value: `SENT` for `sent`, `in_doubt` for `in-doubt`. */
function withFieldSpelling(schema: z.ZodType, field: string, text: string): string {
  const plain = (value: string): string => value.toLowerCase().replaceAll('-', '_')
  return valuesOf(schema, field).find((value) => plain(value) === plain(text)) ?? text
}

function valuesOf(schema: z.ZodType, field: string): readonly string[] {
  let type: unknown = schema instanceof z.ZodObject ? schema.shape[field] : undefined
  while (type instanceof z.ZodOptional) type = type.unwrap()
  if (!(type instanceof z.ZodEnum)) return []
  return type.options.filter((word) => typeof word === 'string')
}

function camel(field: string): string {
  return field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** An identity from the command line, by the same rule as in the path of a request. */
export function checkIdentity(text: string): string {
  const checked = budgetParams.safeParse({ identity: text.trim() })
  if (checked.success) return checked.data.identity
  throw new UsageError(
    `${JSON.stringify(text)} is not an identity, such as github:user or github:installation:7`,
    'List them: holdfast budgets',
  )
}

const idKinds = {
  run: { what: 'A run id', list: 'List runs: holdfast runs' },
  del: { what: 'A delivery id', list: 'List deliveries: holdfast deliveries' },
} as const

/** For an id that nothing has. One that cannot be an id was mistaken for one. */
export function unknownIdHint(kind: keyof typeof idKinds, id: string): string {
  const { what, list } = idKinds[kind]
  return id.startsWith(`${kind}_`)
    ? `It may have been removed after its retention time. ${list}`
    : `${what} looks like ${kind}_01m7gsy7fk6bdsn606m36w5wgd. ${list}`
}

/** An id from the command line; it becomes part of a path. `hint`: how to find the right one. */
export function checkId(text: string, hint?: string): string {
  const checked = idSchema.safeParse(text.trim())
  if (checked.success) return checked.data
  throw new UsageError('An id has 1 to 100 letters, digits, underscores or hyphens', hint)
}
