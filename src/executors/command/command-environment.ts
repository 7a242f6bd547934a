/**
 * The environment of a command: the run's own variables, four that almost every program needs, and
 * those that the run type lists. Nothing else of Holdfast's environment gets there, because that
 * has Holdfast's secrets.
 */
import { parseBearer } from '../../secrets.ts'
import type { RunFilePaths } from './run-files.ts'

/** From Holdfast's own environment, where they are set. They are not secrets. */
const always = ['PATH', 'HOME', 'LANG', 'TMPDIR']

export interface RunAccess {
  readonly runId: string
  readonly runToken: string
  readonly url: string
  readonly mcpUrl: string
}

export interface CommandEnvironment {
  readonly env: Readonly<Record<string, string>>
  /** To be hidden in everything that the command prints or writes. */
  readonly secrets: readonly string[]
}

/** `listed` are the names that the run type lists. One that is not set stays unset. */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  listed: readonly string[],
  run: RunAccess,
  files: RunFilePaths,
): CommandEnvironment {
  const ofRun = runVariables(run, files)
  const extra = listed.filter((name) => !always.includes(name) && !(name in ofRun))
  const given = setOf(own, extra)
  return {
    env: { ...setOf(own, always), ...given, ...ofRun },
    secrets: [...Object.values(given), ...tokenSecrets(run.runToken)],
  }
}

/** The contract's variables. */
export function runVariables(run: RunAccess, files: RunFilePaths): Record<string, string> {
  return {
    HOLDFAST_RUN_ID: run.runId,
    HOLDFAST_RUN_TOKEN: run.runToken,
    HOLDFAST_URL: run.url,
    HOLDFAST_MCP_URL: run.mcpUrl,
    HOLDFAST_INPUT_FILE: files.input,
    HOLDFAST_SUMMARY_FILE: files.summary,
    HOLDFAST_RESULT_FILE: files.result,
    HOLDFAST_MCP_CONFIG: files.mcpConfig,
  }
}

/** The secret alone too, because the lease token is another spelling of it. */
export function tokenSecrets(runToken: string): string[] {
  const secret = parseBearer(runToken)?.secret
  return secret === undefined ? [runToken] : [runToken, secret]
}

function setOf(
  own: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const found = names.map((name) => [name, own[name]] as const)
  return Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== undefined))
}
