/**
 * Turns the parser's complaints into ours: an unknown option or command names the nearest right
 * one, looking also in the commands above and below. A value is never repeated, because it may be
 * a secret somebody gave to the wrong flag.
 */
import type { Command, CommanderError } from 'commander'
import { nearest } from '../settings/nearest.ts'
import { UsageError } from './failure.ts'
import { secretBehindFlag } from './setting-flags.ts'

export function usageError(error: CommanderError, command: Command): UsageError {
  const name = fullName(command)
  const quoted = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  const hint = `See: ${name} --help`
  switch (error.code) {
    case 'commander.unknownOption':
      return unknownOption(quoted.replace(/=.*$/s, ''), command)
    case 'commander.unknownCommand': {
      const names = command.commands.map((child) => child.name())
      const right = `${name} ${String(nearest(quoted, names))}`
      return new UsageError(`${quoted} is no command; the nearest right one is: ${right}`, hint)
    }
    case 'commander.optionMissingArgument':
      return new UsageError(`${flagIn(quoted)} needs a value`, hint)
    case 'commander.excessArguments':
      return new UsageError(`${name} was given an argument too many`, hint)
    default:
      return new UsageError(error.message.replace(/^error: /, ''), hint)
  }
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
