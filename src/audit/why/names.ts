/**
 * Names and numbers as a sentence says them. Whatever others chose (logins, branches, reasons,
 * workers) is made harmless here: it stays on its line, commands no terminal, and is no markup.
 */
import type { AuditRow } from '../../domain/audit.ts'
import type { Run } from '../../domain/run.ts'

// Control characters, lone surrogates, marks that turn the direction of text, line separators.
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/gu
const outsideMax = 200

/** Text from outside, on one line. */
export function outside(text: string, max = outsideMax): string {
  const tame = text
    .replaceAll(unsafe, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('`', "'")
    .replaceAll('](', '] (')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (tame.length <= max) return tame
  // Never half of a character.
  return `${tame.slice(0, max - 1).replace(/\p{Cs}$/u, '')}…`
}

/** The same in quotes, for what somebody said rather than what something is called. */
export const quoted = (text: string): string => `“${outside(text)}”`

export const shortSha = (sha: string): string => outside(sha.slice(0, 7))

/** What a key is about: the head of a pull request's, or the key itself. */
export function keyWords(key: string): string {
  const [, sha] = /:(?:head|sha)-([0-9a-f]{7})[0-9a-f]*$/.exec(key) ?? []
  return sha ?? outside(key, 80)
}

export const typeWords = ({ type }: Pick<Run, 'type'>): string => outside(type, 64)

/** `review of 9c1185a` */
export function runWords(run: Run): string {
  const what = run.pr !== null && run.headSha !== null ? shortSha(run.headSha) : keyWords(run.key)
  return `${typeWords(run)} of ${what}`
}

/** `acme/widgets#5`, or what a job is about. */
export function subjectWords({ repo, pr, subject, key }: Run): string {
  if (repo !== null && pr !== null) return `${outside(repo)}#${pr}`
  return outside(subject === '' ? key : subject, 80)
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
  ...['sweeper', 'system', 'intake', 'head-check', 'purge', 'publisher', 'catch-up'],
])

/** Who did it, within a sentence. `tokenNames`: by the id of the token. */
export function actorWords(actor: string, tokenNames: ReadonlyMap<string, string>): string {
  const [kind = '', ...parts] = actor.split(':')
  const name = parts.join(':')
  if (kind === 'github') return name === '' ? 'GitHub' : senderWords(name)
  if (kind === 'token') return outside(tokenNames.get(name) ?? name, 60)
  if (kind === 'run') return 'its worker'
  if (kind === 'admin') return 'the admin'
  if (kind === 'cli') return 'somebody at the command line'
  if (kind === 'operator') return 'an operator'
  return ourselves.has(kind) ? 'Holdfast' : outside(actor) || 'somebody'
}

/** A name is written as its owner writes it; our own words begin a sentence with a capital. */
export const atStart = (words: string): string =>
  words.replace(/^(the|a|an|it|its|somebody|two|worker|no|comment|status|nothing)\b/, (word) => {
    return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
  })

export function senderWords(sender: string | null): string {
  return sender === null || sender === 'ghost' ? 'a deleted account' : outside(sender, 60)
}

export const workerWords = (worker: string | null): string =>
  worker === null || worker === '' ? 'its claimer' : `worker ${outside(worker, 60)}`

/** A text of an audit row's data; null when it is not there or of another kind. */
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

/** `90 minutes`, `2 hours`: the largest unit that says it exactly, else to the second. */
export function lengthWords(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / secondMs)) * secondMs
  const [unit, unitMs] = units.find(([, each]) => seconds % each === 0) ?? ['second', secondMs]
  return counted(seconds / unitMs, unit)
}

/** How long ago, as coarsely as one would say it. */
export function agoWords(ms: number): string {
  const [unit, unitMs] = units.find(([, each]) => ms >= 2 * each) ?? ['second', secondMs]
  return `${counted(Math.max(1, Math.floor(ms / unitMs)), unit)} ago`
}

export const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`

export const isoTime = (at: number): string => new Date(at).toISOString()
export const dayOf = (at: number): string => isoTime(at).slice(0, 10)
export const clockOf = (at: number): string => isoTime(at).slice(11, 19)

/** To the second, in UTC; with its day when that is not today's. */
export function timeWords(at: number, now: number): string {
  return dayOf(at) === dayOf(now) ? `${clockOf(at)} UTC` : `${dayOf(at)} ${clockOf(at)} UTC`
}
