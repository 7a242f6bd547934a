/**
 * Rewrites errors for a program that embeds Holdfast. The store names settings, fields and remedies
 * as the operator of a server knows them. For a program that called `openHoldfast`, no environment
 * and no config file is read, and there may be no server to ask.
 */
import { HoldfastError, InvalidInputError } from '../errors.ts'
import type { Gate, Holdfast } from './holdfast.ts'

/**
 * By error code: texts for a server, and what the library says instead. A message can only begin
 * with such a text. A hint can contain it anywhere.
 */
export const libraryTexts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  event_in_future: { event_at: 'eventAt' },
  publish_not_allowed: { 'in holdfast.config.ts': 'in the configuration of openHoldfast' },
  repo_id_mismatch: { repo_id: 'repoId' },
  run_not_found: { 'List what there is with GET /v1/runs.': 'Stop working on it.' },
  store_foreign: { HOLDFAST_DATABASE_URL: 'databaseUrl' },
  store_moved: { HOLDFAST_DATABASE_URL: 'databaseUrl' },
  store_newer: { 'Start the newer holdfast that': 'Install the version of holdfast that' },
  store_unreachable: { HOLDFAST_DATABASE_URL: 'databaseUrl' },
}

/** The same instance, but its errors say what a program can do. */
export function withLibraryErrors(holdfast: Holdfast): Holdfast {
  return {
    checkAndClaimRun: async (...given) =>
      gateWithLibraryErrors(await asLibraryErrors(() => holdfast.checkAndClaimRun(...given))),
    reportRunStatus: (...given) => asLibraryErrors(() => holdfast.reportRunStatus(...given)),
    completeRun: (...given) => asLibraryErrors(() => holdfast.completeRun(...given)),
    ensureNotPublished: (...given) => asLibraryErrors(() => holdfast.ensureNotPublished(...given)),
    purgeOldRuns: (...given) => asLibraryErrors(() => holdfast.purgeOldRuns(...given)),
    close: () => asLibraryErrors(() => holdfast.close()),
  }
}

function gateWithLibraryErrors(gate: Gate): Gate {
  return {
    ...gate,
    complete: (...given) => asLibraryErrors(() => gate.complete(...given)),
    report: (...given) => asLibraryErrors(() => gate.report(...given)),
    publish: (...given) => asLibraryErrors(() => gate.publish(...given)),
  }
}

export async function asLibraryErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw error instanceof HoldfastError ? forLibrary(error) : error
  }
}

type ErrorClass = new (
  code: string,
  message: string,
  options: { readonly hint?: string; readonly cause: unknown },
) => HoldfastError

/**
 * Returns an error of the same class, with the same code and cause. The given error is not its
 * cause, so that printing it does not show both texts.
 */
function forLibrary(error: HoldfastError): HoldfastError {
  const names = libraryTexts[error.code]
  if (names === undefined) return error
  const message = replaceAtStart(error.message, names)
  const hint = error.hint === undefined ? {} : { hint: replaceAnywhere(error.hint, names) }
  const options = { ...hint, cause: error.cause }
  if (error instanceof InvalidInputError) {
    return new InvalidInputError(error.code, names[error.field] ?? error.field, message, options)
  }
  return new (error.constructor as ErrorClass)(error.code, message, options)
}

type Names = Readonly<Record<string, string>>

function replaceAtStart(text: string, names: Names): string {
  const [name, own = ''] = Object.entries(names).find(([start]) => text.startsWith(start)) ?? []
  return name === undefined ? text : `${own}${text.slice(name.length)}`
}

const replaceAnywhere = (text: string, names: Names): string =>
  Object.entries(names).reduce((replaced, [name, own]) => replaced.replace(name, own), text)
