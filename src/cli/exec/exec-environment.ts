/**
 * The environment of a command under `exec`. Unlike a command that a server executes, it is a step
 * of somebody's own job, so it keeps the whole environment of that job.
 *
 * What must hold: it does not get Holdfast's own secrets. With them it could reach every run, and
 * not only its own. GITHUB_TOKEN stays, because it is the job's.
 */
import {
  runVariables,
  tokenSecrets,
  type CommandEnvironment,
  type RunAccess,
} from '../../executors/command/command-environment.ts'
import type { RunFilePaths } from '../../executors/command/run-files.ts'
import type { Environment } from '../../settings/environment.ts'
import { hasFile } from '../../settings/options/option.ts'
import { optionEntries } from '../../settings/options/options.ts'
import { isOuterName, outerVariables } from './outer-runs.ts'

const jobsOwn = ['GITHUB_TOKEN']

/** Settings that are or may contain a secret, and the token of the command line. */
export const withheld: readonly string[] = [
  'HOLDFAST_TOKEN',
  ...optionEntries
    .filter(([, entry]) => hasFile(entry) && !jobsOwn.includes(entry.env))
    .map(([, entry]) => entry.env),
].flatMap((name) => [name, `${name}_FILE`])

/** Variables whose names say that their values are secrets. */
const secretName = /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_KEY|APIKEY)$/i

export function execEnvironment(
  own: Environment,
  run: RunAccess,
  files: RunFilePaths,
): CommandEnvironment {
  const isKept = (name: string): boolean => !withheld.includes(name) && !isOuterName(name)
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && isKept(entry[0]),
  )
  return {
    env: { ...Object.fromEntries(kept), ...outerVariables(own), ...runVariables(run, files) },
    secrets: execSecrets(own, run.runToken),
  }
}

/** What the command knows and must not show. Very short values are left out later, by the mask. */
export function execSecrets(own: Environment, runToken: string): readonly string[] {
  const values = Object.entries(own).flatMap(([name, value = '']) =>
    secretName.test(name) || withheld.includes(name) ? [value] : [],
  )
  return [...values, ...tokenSecrets(runToken)]
}
