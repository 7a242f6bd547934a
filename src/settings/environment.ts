/**
 * Settings from the environment. Only Holdfast uses names that begin with HOLDFAST_, so an unknown
 * or empty one is an error. Other names, such as GITHUB_TOKEN, are shared with other programs: an
 * empty one counts as not set, and unknown ones are ignored.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { didYouMean } from '../validation/nearest.ts'
import { unavailableVariables } from './config-file/not-available.ts'
import { clientVariables } from './options/client-variables.ts'
import { hasFile } from './options/option.ts'
import { optionEntries, type OptionKey } from './options/options.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A text and where it came from, in words for brackets: "PORT (from the environment)". */
export interface FoundText {
  readonly text: string
  readonly source: string
}

/** Variables for the command that a run executes. */
const notSettings = [
  'HOLDFAST_RUN_ID',
  'HOLDFAST_RUN_TOKEN',
  'HOLDFAST_MCP_URL',
  'HOLDFAST_INPUT_FILE',
  'HOLDFAST_SUMMARY_FILE',
  'HOLDFAST_RESULT_FILE',
  'HOLDFAST_MCP_CONFIG',
  'HOLDFAST_OUTER_RUN_IDS',
]

export interface EnvironmentAnswer {
  readonly found: ReadonlyMap<OptionKey, FoundText>
  readonly problems: readonly string[]
}

export function readEnvironment(env: Environment, cwd: string): EnvironmentAnswer {
  const found = new Map<OptionKey, FoundText>()
  const problems: string[] = unknownNames(env)
  for (const [key, entry] of optionEntries) {
    const answer = readVariable(env, entry.env, cwd, hasFile(entry))
    if ('problem' in answer) problems.push(answer.problem)
    else if (answer.found !== null) found.set(key, answer.found)
  }
  return { found, problems }
}

type VariableAnswer = { readonly found: FoundText | null } | { readonly problem: string }

/** One variable, or the file its `_FILE` names. */
export function readVariable(
  env: Environment,
  name: string,
  cwd: string,
  mayBeFile: boolean,
): VariableAnswer {
  const direct = givenText(env, name)
  const file = mayBeFile ? givenText(env, `${name}_FILE`) : null
  if (direct !== null && file !== null) {
    return { problem: `${name} and ${name}_FILE are both set. Set only one of them` }
  }
  if (direct === '') return { problem: `${name} is empty. Give it a value or unset it` }
  if (file === '')
    return { problem: `${name}_FILE is empty. Give it the path of a file or unset it` }
  if (direct !== null) return { found: { text: direct, source: 'from the environment' } }
  return file === null ? { found: null } : readSecretFile(`${name}_FILE`, resolve(cwd, file))
}

function givenText(env: Environment, name: string): string | null {
  const text = env[name]?.trim()
  if (text === undefined) return null
  return text === '' && !name.startsWith('HOLDFAST_') ? null : text
}

function readSecretFile(name: string, path: string): VariableAnswer {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${String(code)})`
    return { problem: `${name} is ${path}, which ${why}` }
  }
  if (text === '') return { problem: `${name} is ${path}, which is empty` }
  return { found: { text, source: `from the file ${path}` } }
}

/** What a person may set. */
function namesToSet(): readonly string[] {
  const settings = optionEntries.map(([, entry]) => ({ env: entry.env, file: hasFile(entry) }))
  const ofCommands = clientVariables.map(({ env, hasFile: file }) => ({ env, file }))
  return [...settings, ...ofCommands]
    .flatMap(({ env, file }) => (file ? [env, `${env}_FILE`] : [env]))
    .filter((name) => name.startsWith('HOLDFAST_'))
}

function unknownNames(env: Environment): string[] {
  const rightNames = namesToSet()
  const knownNames = new Set([...rightNames, ...notSettings])
  return Object.keys(env)
    .filter(
      (name) => name.startsWith('HOLDFAST_') && env[name] !== undefined && !knownNames.has(name),
    )
    .sort()
    .map((name) => {
      const reason = unavailableVariables.get(name)
      if (reason !== undefined) {
        return `${name} is set, but this version does not support it: ${reason}. Unset it`
      }
      // Only secrets can be given as files.
      const plain = name.replace(/_FILE$/, '')
      const typed = rightNames.includes(plain) ? plain : name
      const meant = didYouMean(typed, rightNames) || 'docs/reference/settings.md lists them all'
      return `Unknown setting ${name} in the environment. ${meant}`
    })
}
