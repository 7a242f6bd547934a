/**
 * The doctor's report: a list of findings. If a check itself fails, that is one more finding, and
 * the other checks go on.
 */
import { problem, type Finding } from '../domain/finding.ts'
import { HoldfastError } from '../errors.ts'

export interface Report {
  /** False if there is a problem. Warnings do not change it. */
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

export interface Check {
  /** The name of the finding if the check itself fails. */
  readonly name: string
  readonly run: () => Promise<readonly Finding[]> | readonly Finding[]
}

/** Runs all checks at the same time. The findings have the order of the checks. */
export async function runChecks(checks: readonly Check[]): Promise<Report> {
  const found = await Promise.all(checks.map(runSafely))
  return reportOf(found.flat())
}

export function reportOf(findings: readonly Finding[]): Report {
  return { ok: findings.every(({ level }) => level !== 'problem'), findings }
}

async function runSafely({ name, run }: Check): Promise<readonly Finding[]> {
  try {
    return await run()
  } catch (error) {
    return [failedCheck(name, error)]
  }
}

export function failedCheck(name: string, error: unknown): Finding {
  const hint = error instanceof HoldfastError ? error.hint : undefined
  const cause =
    error instanceof Error && error.message !== '' ? error.message : 'The cause is unknown.'
  return problem(name, cause, hint ?? 'Fix what the message names, then run doctor again.')
}
