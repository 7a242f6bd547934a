/**
 * What a doctor says: findings, each of one thing. A check that fails is itself a finding and never
 * takes the others with it.
 */
import { problem, type Finding } from '../domain/finding.ts'
import { HoldfastError } from '../errors.ts'

export interface Report {
  /** False when there is a problem; warnings alone leave it true. */
  readonly ok: boolean
  readonly findings: readonly Finding[]
}

export interface Check {
  /** What its finding is called when it cannot even look. */
  readonly name: string
  readonly look: () => Promise<readonly Finding[]> | readonly Finding[]
}

/** All at once; the findings stay in the order of the checks. */
export async function examine(checks: readonly Check[]): Promise<Report> {
  const found = await Promise.all(checks.map(lookSafely))
  return reportOf(found.flat())
}

export function reportOf(findings: readonly Finding[]): Report {
  return { ok: findings.every(({ level }) => level !== 'problem'), findings }
}

async function lookSafely({ name, look }: Check): Promise<readonly Finding[]> {
  try {
    return await look()
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
