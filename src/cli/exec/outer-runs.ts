/**
 * The runs that this process is a part of: the one whose command started it, and those around that
 * one, if an `exec` started the command of another `exec`. Work that has to wait for one of them
 * can never begin.
 *
 * What must hold: whoever takes HOLDFAST_RUN_ID out of the environment is a part of no run.
 */
import type { Environment } from '../../settings/environment.ts'

/** Outermost first, with commas in between. Not set if the run is in no other. */
const outerName = 'HOLDFAST_OUTER_RUN_IDS'

/** Outermost first. */
export function runsAround(env: Environment): readonly string[] {
  const own = env['HOLDFAST_RUN_ID'] ?? ''
  if (own === '') return []
  const outer = (env[outerName] ?? '').split(',').map((id) => id.trim())
  return [...new Set([...outer.filter((id) => id !== ''), own])]
}

/** For the command of a run that this process starts. */
export function outerVariables(env: Environment): Record<string, string> {
  const around = runsAround(env)
  return around.length === 0 ? {} : { [outerName]: around.join(',') }
}

export const isOuterName = (name: string): boolean => name === outerName
