/**
 * Errors in the words of whoever embeds Holdfast. The store names settings, fields and remedies as
 * the operator of a server knows them. A program that called `openHoldfast` has no environment and
 * no config file that is read, and may have no server to ask.
 */
import { HoldfastError, InvalidInputError } from '../errors.ts'
import type { Gate, Holdfast } from './holdfast.ts'

/** By code: what is called otherwise here. Messages have such a name at their start, if at all. */
export const spellings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  event_in_future: { event_at: 'eventAt' },
  publish_not_allowed: { 'in holdfast.config.ts': 'in the configuration of openHoldfast' },
  repo_id_mismatch: { repo_id: 'repoId' },
  run_not_found: { 'List what there is with GET /v1/runs.': 'Stop working on it.' },
  store_foreign: { HOLDFAST_DATABASE_URL: 'databaseUrl' },
  store_newer: { 'Start the newer holdfast that': 'Install the version of holdfast that' },
  store_unreachable: { HOLDFAST_DATABASE_URL: 'databaseUrl' },
}

/** The same instance, whose errors speak of what its caller can do. */
export function withOwnWords(holdfast: Holdfast): Holdfast {
  return {
    checkAndClaimRun: async (...given) =>
      gateWithOwnWords(await inOwnWords(() => holdfast.checkAndClaimRun(...given))),
    reportRunStatus: (...given) => inOwnWords(() => holdfast.reportRunStatus(...given)),
    completeRun: (...given) => inOwnWords(() => holdfast.completeRun(...given)),
    ensureNotPublished: (...given) => inOwnWords(() => holdfast.ensureNotPublished(...given)),
    purgeOldRuns: (...given) => inOwnWords(() => holdfast.purgeOldRuns(...given)),
    close: () => inOwnWords(() => holdfast.close()),
  }
}

function gateWithOwnWords(gate: Gate): Gate {
  return {
    ...gate,
    complete: (...given) => inOwnWords(() => gate.complete(...given)),
    report: (...given) => inOwnWords(() => gate.report(...given)),
    publish: (...given) => inOwnWords(() => gate.publish(...given)),
  }
}

export async function inOwnWords<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw error instanceof HoldfastError ? respelt(error) : error
  }
}

type ErrorClass = new (
  code: string,
  message: string,
  options: { readonly hint?: string; readonly cause: unknown },
) => HoldfastError

/** Of the same class, code and cause: printed, the other wording must not show beside it. */
function respelt(error: HoldfastError): HoldfastError {
  const names = spellings[error.code]
  if (names === undefined) return error
  const message = atItsStart(error.message, names)
  const hint = error.hint === undefined ? {} : { hint: anywhere(error.hint, names) }
  const options = { ...hint, cause: error.cause }
  if (error instanceof InvalidInputError) {
    return new InvalidInputError(error.code, names[error.field] ?? error.field, message, options)
  }
  return new (error.constructor as ErrorClass)(error.code, message, options)
}

type Names = Readonly<Record<string, string>>

function atItsStart(text: string, names: Names): string {
  const [name, own = ''] = Object.entries(names).find(([start]) => text.startsWith(start)) ?? []
  return name === undefined ? text : `${own}${text.slice(name.length)}`
}

const anywhere = (text: string, names: Names): string =>
  Object.entries(names).reduce((said, [name, own]) => said.replace(name, own), text)
