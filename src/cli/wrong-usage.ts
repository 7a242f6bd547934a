/**
 * Turns the parser's complaints into ours: an unknown option or command names the nearest right
 * one, looking also in the commands above and below. A value is never repeated, because it may be
 * a secret somebody gave to the wrong flag.
 */
import type { Command, CommanderError } from 'commander'
import { nearest } from '../settings/nearest.ts'
import { UsageError } from './failure.ts'
import { secretBehindFlag } from './serve/setting-flags.ts'

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
    case 'commander.missingArgument':
      return new UsageError(`${name} needs <${quoted}>`, hint)
    case 'commander.excessArguments':
      if (standsForParent(command)) return unknownCommand(command.args[0] ?? '', command.parent)
      return new UsageError(`${name} was given an argument too many`, hint)
    default:
      return new UsageError(error.message.replace(/^error: /, ''), hint)
  }
}

function unknownCommand(given: string, command: Command): UsageError {
  const name = fullName(command)
  const names = command.commands.map((child) => child.name())
  const right = nearest(given, names)
  // What is longer than any name may be anything, also a secret.
  const told = /^[\w-]{1,20}$/.test(given) ? given : 'What was given'
  const meant =
    right === null ? `known are ${names.join(', ')}` : `the nearest right one is: ${name} ${right}`
  return new UsageError(`${told} is no command; ${meant}`, `See: ${name} --help`)
}

/** `holdfast runs` lists, so that a misspelt command after it reaches the list as an argument. */
function standsForParent(command: Command): command is Command & { readonly parent: Command } {
  return command.name() === 'list' && command.parent?.parent !== null && command.parent !== null
}

function unknownOption(flag: string, command: Command): UsageError {
  const hint = `See: ${fullName(command)} --help`
  const secret = secretBehindFlag(flag)
  if (secret !== null) {
    const message = `${flag} is no option, because everybody on a machine can read command lines`
    return new UsageError(message, `Set ${secret} or ${secret}_FILE in the environment.`)
  }
  const places = new Map<string, string>()
  for (const place of [...aboveAndSelf(command), ...below(command)]) {
    const elsewhere = below(command).includes(place) ? ` of ${fullName(place)}` : ''
    for (const { long } of place.createHelp().visibleOptions(place)) {
      if (long && !places.has(long)) places.set(long, `${long}${elsewhere}`)
    }
  }
  const right = nearest(flag, [...places.keys()])
  const suggestion =
    right === null ? '' : `; the nearest right one is ${places.get(right) ?? right}`
  return new UsageError(`${flag} is no option of ${fullName(command)}${suggestion}`, hint)
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
