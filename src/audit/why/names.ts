/**
 * Names and numbers for sentences. Text that others chose (logins, branches, reasons, workers) is
 * cleaned here: it stays on one line, contains no terminal commands and no markup.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'

// Control characters, lone surrogates, marks that turn the direction of text, line separators.
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/gu
/** How much of it a sentence shows. */
export const outsideMax = 200

/** Text from outside, on one line. */
export function cleanText(text: string, max = outsideMax): string {
  const clean = text
    .replaceAll(unsafe, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('`', "'")
    .replaceAll('](', '] (')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (clean.length <= max) return clean
  // Never ends with half a character.
  return `${clean.slice(0, max - 1).replace(/\p{Cs}$/u, '')}…`
}

/** The same in quotation marks, for text that somebody wrote. */
export const quoted = (text: string): string => `“${cleanText(text)}”`

export const shortSha = (sha: string): string => cleanText(sha.slice(0, 7))

/** The head in the key of a pull request's run; otherwise the key itself. */
export function keyWords(key: string): string {
  const [, sha] = /:(?:head|sha)-([0-9a-f]{7})[0-9a-f]*$/.exec(key) ?? []
  return sha ?? cleanText(key, 80)
}

export const typeWords = ({ type }: Pick<Run, 'type'>): string => cleanText(type, 64)

/** `review of 9c1185a` */
export function runWords(run: Run): string {
  const what = run.pr !== null && run.headSha !== null ? shortSha(run.headSha) : keyWords(run.key)
  return `${typeWords(run)} of ${what}`
}

/** `acme/widgets#5`, or what a job is about. */
export function subjectWords({ repo, pr, subject, key }: Run): string {
  if (repo !== null && pr !== null) return `${cleanText(repo)}#${pr}`
  return cleanText(subject === '' ? key : subject, 80)
}

/** `review of acme/widgets#5 at 9c1185a` */
export function fullRunWords(run: Run): string {
  const type = typeWords(run)
  const subject = subjectWords(run)
  const key = keyWords(run.key)
  if (run.pr !== null && run.headSha !== null) {
    return `${type} of ${subject} at ${shortSha(run.headSha)}`
  }
  return key === subject ? `${type} of ${subject}` : `${type} of ${subject} (${key})`
}

const ourselves = new Set([
  ...['sweeper', 'system', 'intake', 'head-check', 'purge', 'publisher', 'catch-up', 'runs'],
])

/** Who did it, within a sentence. `tokenNames`: by the id of the token. */
export function actorWords(actor: string, tokenNames: ReadonlyMap<string, string>): string {
  const [kind = '', ...parts] = actor.split(':')
  const name = parts.join(':')
  if (kind === 'github') return name === '' ? 'GitHub' : senderWords(name)
  if (kind === 'token') return cleanText(tokenNames.get(name) ?? name, 60)
  if (kind === 'run') return 'its worker'
  // Who executes runs acts under the name with which it leases them.
  if (kind === 'executor') return workerWords(name)
  if (kind === 'admin') return 'the admin'
  if (kind === 'cli') return 'somebody at the command line'
  if (kind === 'exec') return 'holdfast exec'
  if (kind === 'operator') return 'an operator'
  return ourselves.has(kind) ? 'Holdfast' : cleanText(actor) || 'somebody'
}

/** Begins a sentence with a capital, but leaves names as they are written. */
export const atStart = (words: string): string =>
  words.replace(/^(the|a|an|it|its|somebody|two|worker|no|comment|status|nothing)\b/, (word) => {
    return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
  })

/** GitHub calls the user of a deleted account `ghost`. */
export function senderWords(sender: string | null): string {
  if (sender === null) return 'somebody'
  return sender === 'ghost' ? 'a deleted account' : cleanText(sender, 60)
}

export const workerWords = (worker: string | null): string =>
  worker === null || worker === '' ? 'its claimer' : `worker ${cleanText(worker, 60)}`

/** A text in an audit row's data. Returns null if it is missing, empty or no text. */
export function textOf({ data }: AuditRow, name: string): string | null {
  const value = data[name]
  return typeof value === 'string' && value !== '' ? value : null
}

export function numberOf({ data }: AuditRow, name: string): number | null {
  const value = data[name]
  return typeof value === 'number' ? value : null
}

const secondMs = 1000
const units = [
  ['day', 86_400 * secondMs],
  ['hour', 3600 * secondMs],
  ['minute', 60 * secondMs],
  ['second', secondMs],
] as const

/** `90 minutes`, `2 hours`: in the largest unit that is exact, rounded to seconds. */
export function lengthWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / secondMs)) * secondMs
  const [unit, unitMs] = units.find(([, each]) => seconds % each === 0) ?? ['second', secondMs]
  return counted(seconds / unitMs, unit)
}

/** How long ago, in one rounded unit. */
export function agoWords(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? ['second', secondMs]
  return `${counted(Math.max(1, Math.floor(ms / unitMs)), unit)} ago`
}

export const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`

export const isoTime = (at: number): string => new Date(at).toISOString()
export const dayOf = (at: number): string => isoTime(at).slice(0, 10)
export const clockOf = (at: number): string => isoTime(at).slice(11, 19)

/** To the second, in UTC, with the day if it is not today. */
export function timeWords(at: number, now: number): string {
  return dayOf(at) === dayOf(now) ? `${clockOf(at)} UTC` : `${dayOf(at)} ${clockOf(at)} UTC`
}
