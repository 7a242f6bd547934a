/**
 * Turns the parser's errors into ours: an unknown option or command gets a suggestion, which may
 * also come from the commands above and below. A value is never repeated, because it may be a
 * secret that somebody gave to the wrong option.
 */
import type { Command, CommanderError } from 'commander'
import { didYouMean, nearest } from '../validation/nearest.ts'
import { UsageError } from './failure.ts'
import { variableOfSecretFlag } from './serve/setting-flags.ts'

export function usageError(error: CommanderError, command: Command): UsageError {
  const name = fullName(command)
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  const hint = `See: ${name} --help`
  switch (error.code) {
    case 'commander.unknownOption':
      return unknownOption(quoted.replace(/=.*$/s, ''), command)
    case 'commander.unknownCommand':
      return unknownCommand(quoted, command)
    case 'commander.optionMissingArgument':
      return new UsageError(`${flagIn(quoted)} needs a value`, hint)
    case 'commander.missingMandatoryOptionValue':
      return misspelt(command) ?? new UsageError(`${flagIn(quoted)} is missing`, hint)
    case 'commander.missingArgument':
      if (quoted === 'command') {
        return new UsageError(`Missing: the command to run, after --: ${name} … -- COMMAND`, hint)
      }
      return new UsageError(`Missing argument: ${name} <${quoted}>`, hint)
    case 'commander.excessArguments':
      if (isDefaultList(command)) return unknownCommand(command.args[0] ?? '', command.parent)
      return tooMany(command)
    default:
      return new UsageError(error.message.replace(/^error: /, ''), hint)
  }
}

function tooMany(command: Command): UsageError {
  const name = fullName(command)
  const [first = ''] = command.args
  // `runs steps confirm` for `runs step confirm`: only a known name is repeated.
  const beside = command.parent?.commands.flatMap(({ commands }) => commands) ?? []
  const meant = beside.find((other) => other.name() === first)
  const hasPort = command.options.some(({ long }) => long === '--port')
  const right =
    meant !== undefined
      ? fullName(meant)
      : hasPort && /^\d{1,5}$/.test(first)
        ? `${name} --port ${first}`
        : null
  const question = right === null ? '' : `. Did you mean "${right}"?`
  return new UsageError(`Too many arguments for "${name}"${question}`, `See: ${name} --help`)
}

/** Throws if the arguments ask for the help of an unknown command. Commander prints its own. */
export function refuseUnknownTopic(argv: readonly string[], program: Command): void {
  let command = program
  for (const [at, word] of argv.entries()) {
    const childOf = (name: string | undefined): Command | undefined =>
      command.commands.find((child) => child.name() === name)
    if (word === 'help') {
      const topic = argv[at + 1]
      const isKnown = topic === undefined || /^-|^help$/.test(topic) || childOf(topic) !== undefined
      if (isKnown) return
      throw unknownCommand(topic, command)
    }
    const child = childOf(word)
    if (child === undefined) return
    command = child
  }
}

/** The parser misses an option before it sees that one is unknown. */
function misspelt(command: Command): UsageError | null {
  const values = wordsAfterDashes(command)
  const word = command.args.find((one) => /^--./.test(one) && !values.includes(one))
  return word === undefined ? null : unknownOption(word.replace(/=.*$/s, ''), command)
}

/** These are arguments, whatever they look like. */
function wordsAfterDashes(command: Command): readonly string[] {
  const top = aboveAndSelf(command).at(-1) as Command & { readonly rawArgs: readonly string[] }
  const at = top.rawArgs.indexOf('--')
  return at === -1 ? [] : top.rawArgs.slice(at + 1)
}

function unknownCommand(given: string, command: Command): UsageError {
  const name = fullName(command)
  const names = command.commands.map((child) => child.name())
  // A text that is longer than any name may be a secret, so it is not repeated.
  const shown = /^[\w-]{1,20}$/.test(given) ? ` ${JSON.stringify(given)}` : ''
  const meant = didYouMean(given, names) || `Commands: ${names.join(', ')}`
  return new UsageError(`Unknown command${shown}. ${meant}`, `See: ${name} --help`)
}

/** `holdfast runs` means `holdfast runs list`, so a misspelt command is an argument of the list. */
function isDefaultList(command: Command): command is Command & { readonly parent: Command } {
  return command.name() === 'list' && command.parent?.parent !== null && command.parent !== null
}

function unknownOption(flag: string, command: Command): UsageError {
  const hint = `See: ${fullName(command)} --help`
  const secret = variableOfSecretFlag(flag)
  if (secret !== null) {
    const message = `${flag} is not an option: every user of a machine can read command lines`
    return new UsageError(message, `Set ${secret} or ${secret}_FILE in the environment instead.`)
  }
  const places = new Map<string, string>()
  for (const place of [...aboveAndSelf(command), ...below(command)]) {
    const elsewhere = below(command).includes(place) ? ` of "${fullName(place)}"` : ''
    for (const { long } of place.createHelp().visibleOptions(place)) {
      if (long && !places.has(long)) places.set(long, `"${long}"${elsewhere}`)
    }
  }
  const right = nearest(flag, [...places.keys()])
  const meant = right === null ? '' : `. Did you mean ${places.get(right) ?? ''}?`
  return new UsageError(`Unknown option "${flag}"${meant}`, hint)
}

function flagIn(quoted: string): string {
  return quoted.split(' ')[0] ?? quoted
}

function fullName(command: Command): string {
  return aboveAndSelf(command)
    .map((place) => place.name())
    .reverse()
    .join(' ')
}

function aboveAndSelf(command: Command): readonly Command[] {
  return command.parent === null ? [command] : [command, ...aboveAndSelf(command.parent)]
}

function below(command: Command): readonly Command[] {
  return command.commands.flatMap((child) => [child, ...below(child)])
}
