/**
 * The flags of settings. They are made from the table of settings, so nothing is written twice.
 */
import { Option as Flag, type Command } from 'commander'
import { describeDefault, flagOf, hasFile, hasFlag } from '../../settings/options/option.ts'
import { optionEntries, optionGroups, type OptionKey } from '../../settings/options/options.ts'

interface WhichFlags {
  /** Default: all. */
  readonly only?: readonly OptionKey[]
  /** Accepted but not in the help, because this command does nothing with them. */
  readonly unused?: readonly OptionKey[]
}

export function addSettingFlags(command: Command, { only, unused = [] }: WhichFlags = {}): Command {
  command.addOption(
    new Flag('--config <path>', 'config file (default: holdfast.config.ts or .mts, if present)'),
  )
  for (const { name: group, entries } of optionGroups) {
    for (const [key, entry] of entries) {
      if (!hasFlag(entry) || (only !== undefined && !only.includes(key))) continue
      const unit = entry.unit === null ? '' : `${entry.unit}; `
      const facts = `${unit}${entry.env}; default ${describeDefault(entry)}`
      const description = `${entry.summary} (${facts})`
      const flag = new Flag(`${flagOf(key)} <value>`, description.replaceAll('`', ''))
      command.addOption(flag.helpGroup(`${group}:`).hideHelp(unused.includes(key)))
    }
  }
  return command
}

/** The texts of the setting flags that were given, by setting key. */
export function givenFlags(parsed: Readonly<Record<string, unknown>>): Record<string, string> {
  const given: Record<string, string> = {}
  for (const [key] of optionEntries) {
    const text = parsed[key]
    if (typeof text === 'string') given[key] = text
  }
  return given
}

/** For the end of a help page: secrets. They have no flags, because every user sees flags. */
export function secretsHelp(): string {
  const rows = optionEntries
    .filter(([, entry]) => !hasFlag(entry))
    .map(([, entry]) => `  ${entry.env.padEnd(22)} ${entry.summary}`)
  return [
    'Secrets are set in the environment only, or as the path of a file in NAME_FILE:',
    ...rows,
  ].join('\n')
}

/** If somebody tried to give a secret as a flag: its variable. Returns null for other flags. */
export function variableOfSecretFlag(flag: string): string | null {
  for (const [, entry] of optionEntries) {
    if (!hasFile(entry) || hasFlag(entry)) continue
    const words = entry.env.toLowerCase().replaceAll('_', '-')
    if (flag === `--${words}` || flag === `--${words.replace(/^holdfast-/, '')}`) return entry.env
  }
  return null
}
